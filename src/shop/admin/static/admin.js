// Optional enhancements: every page works without this script.
"use strict";

// Scrolls the current entry of a menu or of tabs into view, without moving the page.
for (const current of document.querySelectorAll(".side [aria-current], .tabs [aria-current], .sorts [aria-current]")) {
  const box = current.closest(".side > div") ?? current.closest("ul");
  const [inner, outer] = [current.getBoundingClientRect(), box.getBoundingClientRect()];
  box.scrollTop += Math.max(0, inner.bottom - outer.bottom + 48);
  box.scrollLeft += Math.max(0, inner.right - outer.right + 48);
}

for (const button of document.querySelectorAll("[data-print]")) {
  button.hidden = false;
  button.addEventListener("click", () => window.print());
}

for (const button of document.querySelectorAll("[data-copy]")) {
  button.hidden = false;
  const label = button.textContent;
  button.addEventListener("click", async () => {
    const source = document.getElementById(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(source.textContent.trim());
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(source);
      button.textContent = "Press Ctrl+C";
    }
    setTimeout(() => { button.textContent = label; }, 2000);
  });
}

for (const form of document.querySelectorAll("form")) {
  form.addEventListener("submit", (event) => {
    const question = event.submitter?.dataset.confirm ?? form.dataset.confirm;
    if (question && !confirm(question)) event.preventDefault();
  });
}

// Shows the number of variants that the selected values create.
for (const form of document.querySelectorAll("form[data-combinations]")) {
  const output = form.querySelector("output");
  const count = () => {
    const sizes = [...form.querySelectorAll("fieldset")].map((set) => set.querySelectorAll(":checked").length);
    const made = sizes.reduce((all, size) => all * size, 1);
    output.hidden = made === 0;
    output.textContent = made === 1 ? "1 combination" : `${made} combinations`;
  };
  form.addEventListener("change", count);
  count();
}

// Shows the website settings in the preview while they are edited.
const websiteForm = document.getElementById("website-form");
if (websiteForm) {
  const preview = document.querySelector("[data-website-preview]");
  const { accent, radius } = websiteForm.elements;
  const picker = websiteForm.querySelector("[data-color]");
  const contrast = websiteForm.querySelector("[data-contrast]");
  const linear = (share) => (share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4);
  const contrastWithWhite = (color) => {
    const [red, green, blue] = [1, 3, 5].map((at) => linear(parseInt(color.slice(at, at + 2), 16) / 255));
    return 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05);
  };
  const show = () => {
    const color = accent.value.trim().toLowerCase();
    const isColor = /^#[0-9a-f]{6}$/.test(color);
    const font = websiteForm.querySelector("[name=font]:checked + span");
    contrast.hidden = !isColor;
    if (isColor) {
      const ratio = contrastWithWhite(color);
      const isReadable = ratio >= Number(contrast.dataset.contrast);
      picker.value = color;
      contrast.textContent = `Contrast ${(Math.floor(ratio * 10) / 10).toFixed(1)}:1${isReadable ? ", good" : ", too light"}`;
    }
    for (const site of preview.querySelectorAll(".site")) {
      if (isColor) site.style.setProperty("--brand", color);
      site.style.setProperty("--radius", `${radius.value}px`);
      if (font) site.style.setProperty("--font", getComputedStyle(font).fontFamily);
    }
    for (const text of preview.querySelectorAll("[data-preview]")) {
      text.textContent = websiteForm.elements[text.dataset.preview].value.trim() || text.dataset.default || "";
      text.hidden = !text.textContent;
    }
    const [taxon] = websiteForm.elements.hero_taxon_id.selectedOptions;
    for (const link of preview.querySelectorAll("[data-preview-link]")) {
      link.textContent = `Shop ${taxon?.value ? taxon.text.replace(/ \([^()]*\)$/, "") : "all products"}`;
    }
    for (const output of websiteForm.querySelectorAll("output[data-unit]")) {
      output.textContent = `${radius.value} ${output.dataset.unit}`;
    }
  };
  const showImage = (image, url) => {
    image.hidden = !url;
    if (url) image.src = url;
    if (image.nextElementSibling?.matches("b")) image.nextElementSibling.hidden = !!url;
  };
  for (const name of ["logo", "hero_image"]) {
    const images = [...preview.querySelectorAll(`[data-preview-image=${name}]`)];
    const saved = images[0].getAttribute("src");
    const { [name]: file, [`remove_${name}`]: removal } = websiteForm.elements;
    const update = () => {
      if (!file.files.length) {
        for (const image of images) showImage(image, removal?.checked ? null : saved);
        return;
      }
      const reader = new FileReader();
      reader.addEventListener("load", () => { for (const image of images) showImage(image, reader.result); });
      reader.readAsDataURL(file.files[0]);
    };
    file.addEventListener("change", update);
    removal?.addEventListener("change", update);
  }
  picker.hidden = false;
  picker.addEventListener("input", () => { accent.value = picker.value; });
  websiteForm.addEventListener("input", show);
  show();
}

// Shows the texts of an e-mail in the preview while they are edited.
const mailForm = document.getElementById("mail-form");
if (mailForm) {
  let timer;
  mailForm.querySelector("[data-preview-button]").hidden = true;
  const preview = () => {
    const former = document.querySelector("iframe.mail-preview");
    const frame = former.cloneNode();
    frame.removeAttribute("src");
    // A new frame, because each document of an existing one would be a step of the back button.
    former.replaceWith(frame);
    const copy = document.createElement("form");
    Object.assign(copy, { method: "post", action: mailForm.dataset.previewUrl, target: frame.name, hidden: true });
    for (const [name, value] of new FormData(mailForm)) {
      const input = document.createElement("textarea");
      Object.assign(input, { name, value });
      copy.append(input);
    }
    document.body.append(copy);
    copy.submit();
    copy.remove();
  };
  mailForm.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(preview, 400);
  });
}

// Edits a grid like a spreadsheet; without this script, the grid is a form with inputs.
for (const form of document.querySelectorAll("form[data-cells]")) {
  const output = form.querySelector("[data-count]");
  const cells = [...form.querySelectorAll("[data-seen]")];
  const show = () => {
    let count = 0;
    for (const cell of cells) {
      const isChanged = cell.value.trim() !== cell.dataset.seen;
      cell.toggleAttribute("data-changed", isChanged);
      count += isChanged;
    }
    output.hidden = count === 0;
    output.textContent = count === 1 ? "1 changed value" : `${count} changed values`;
  };
  const set = (cell, value) => {
    if (cell.tagName === "SELECT") {
      const text = value.trim().toLowerCase();
      const option = [...cell.options].find((each) => each.value === value || each.text.toLowerCase() === text);
      if (option) cell.value = option.value;
    } else {
      cell.value = value;
    }
    cell.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const columnOf = (cell) => [...form.querySelectorAll(`[data-column="${cell.closest("td").dataset.column}"] [data-seen]`)];
  const rowOf = (cell) => [...cell.closest("tr").querySelectorAll("[data-seen]")];
  const focus = (cell) => {
    cell?.focus();
    cell?.select?.();
  };
  const move = (list, cell, step) => focus(list[list.indexOf(cell) + step]);
  form.querySelector("[data-keys]").hidden = false;
  form.addEventListener("input", show);
  form.addEventListener("keydown", (event) => {
    const cell = event.target;
    if (cell.dataset.seen === undefined || event.altKey) return;
    const isText = cell.type === "text";
    const isAtStart = isText && cell.selectionEnd === 0;
    const isAllSelected = isText && cell.selectionStart === 0 && cell.selectionEnd === cell.value.length;
    const isAtEnd = isText && cell.selectionStart === cell.value.length;
    const moves = {
      Enter: () => move(columnOf(cell), cell, event.shiftKey ? -1 : 1),
      ArrowDown: isText && (() => move(columnOf(cell), cell, 1)),
      ArrowUp: isText && (() => move(columnOf(cell), cell, -1)),
      ArrowLeft: (isAtStart || isAllSelected) && (() => move(rowOf(cell), cell, -1)),
      ArrowRight: (isAtEnd || isAllSelected) && (() => move(rowOf(cell), cell, 1)),
      Escape: () => { set(cell, cell.dataset.seen); cell.select?.(); },
    };
    const isCopy = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "d";
    const act = isCopy ? () => {
      const column = columnOf(cell);
      const above = column[column.indexOf(cell) - 1];
      if (above) set(cell, above.value);
    } : !event.ctrlKey && !event.metaKey && moves[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  form.addEventListener("paste", (event) => {
    const cell = event.target;
    const lines = event.clipboardData.getData("text/plain").replace(/\r/g, "").replace(/\n$/, "").split("\n");
    if (cell.dataset.seen === undefined || (lines.length === 1 && !lines[0].includes("\t"))) return;
    event.preventDefault();
    const column = columnOf(cell);
    const first = rowOf(cell).indexOf(cell);
    lines.forEach((line, down) => {
      const start = column[column.indexOf(cell) + down];
      if (!start) return;
      const row = rowOf(start);
      const from = lines.length > 1 && !line.includes("\t") ? row.indexOf(start) : first;
      line.split("\t").forEach((value, right) => { if (row[from + right]) set(row[from + right], value.trim()); });
    });
  });
  // Sends the changed cells only.
  form.addEventListener("submit", () => {
    for (const cell of cells) {
      const isSame = cell.value.trim() === cell.dataset.seen;
      cell.disabled = cell.closest("td").querySelector("[type=hidden]").disabled = isSame;
    }
  });
  addEventListener("pageshow", () => {
    for (const cell of cells) cell.disabled = cell.closest("td").querySelector("[type=hidden]").disabled = false;
    show();
  });
  show();
}

// Takes files that are dropped beside a file input.
for (const zone of document.querySelectorAll("[data-drop]")) {
  const input = zone.querySelector("[type=file]");
  const hint = zone.querySelector("[data-drop-hint]");
  if (hint) hint.hidden = false;
  for (const type of ["dragenter", "dragover", "dragleave", "drop"]) {
    zone.addEventListener(type, (event) => {
      event.preventDefault();
      zone.toggleAttribute("data-over", type === "dragenter" || type === "dragover");
    });
  }
  zone.addEventListener("drop", (event) => {
    const files = new DataTransfer();
    for (const file of [...input.files, ...event.dataTransfer.files]) files.items.add(file);
    input.files = files.files;
    input.dispatchEvent(new Event("input", { bubbles: true }));
  });
}

// Shows the progress of work in the background; without the query, which has the notice of the last action.
if (document.querySelector("[data-reload]")) setTimeout(() => location.replace(location.pathname), 1500);

// Warns before a page with unsaved changes is left.
let isUnsaved = false;
for (const form of document.querySelectorAll("form[data-unsaved]")) {
  form.addEventListener("input", () => { isUnsaved = true; });
}
document.addEventListener("submit", (event) => { if (!event.defaultPrevented) isUnsaved = false; });
addEventListener("beforeunload", (event) => { if (isUnsaved) event.preventDefault(); });

// Disables the button, so that a double click sends one request.
document.addEventListener("submit", (event) => {
  if (event.defaultPrevented) return;
  const button = event.submitter;
  if (button) setTimeout(() => { button.disabled = button.dataset.sent = true; });
});

// Clears secrets, so that the back button does not show them again.
addEventListener("pagehide", () => {
  for (const secret of document.querySelectorAll("[data-secret]")) secret.textContent = "no longer shown";
});
addEventListener("pageshow", () => {
  for (const button of document.querySelectorAll("button[data-sent]")) button.disabled = false;
});

// Closes the mobile menu on a click outside it.
const menu = document.querySelector("details.menu");
if (menu) {
  document.addEventListener("click", (event) => { if (!menu.contains(event.target)) menu.open = false; });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") menu.open = false; });
}

// Ticks all rows of a list, and shows how many are ticked.
for (const all of document.querySelectorAll("[data-tick-all]")) {
  all.hidden = false;
  const boxes = all.closest("table").querySelectorAll("tbody input[type=checkbox]");
  all.addEventListener("change", () => { for (const box of boxes) box.checked = all.checked; });
  const output = all.form?.querySelector("[data-ticked]");
  if (!output) continue;
  const show = () => {
    const count = [...boxes].filter((box) => box.checked).length;
    output.hidden = count === 0;
    output.textContent = `${count} selected`;
  };
  all.closest("table").addEventListener("change", show);
  show();
}

// Keyboard shortcuts: / focuses the search, J and K move through the rows, Enter opens the focused one.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, select, textarea, [contenteditable]")) return;
  const search = document.querySelector("[data-search]");
  if (event.key === "/" && search) {
    event.preventDefault();
    search.focus();
    search.select();
  }
  if (event.key === "j" || event.key === "k") {
    const links = [...document.querySelectorAll("[data-rows] tbody a.through")];
    const at = links.indexOf(document.activeElement);
    links[event.key === "j" ? Math.min(at + 1, links.length - 1) : Math.max(at - 1, 0)]?.focus();
  }
});

// Shows the difference of a stock count while it is entered.
for (const input of document.querySelectorAll("input[data-counted]")) {
  const cell = input.closest("tr").querySelector("[data-difference]");
  const show = () => {
    const isNumber = /^[0-9]+$/.test(input.value.trim());
    const difference = Number(input.value) - Number(input.dataset.counted);
    cell.textContent = isNumber ? `${difference > 0 ? "+" : difference < 0 ? "−" : ""}${Math.abs(difference)}` : "–";
    cell.classList.toggle("none", !isNumber);
  };
  input.addEventListener("input", show);
  show();
}

// Focuses the feedback after an action, so that screen readers and keyboards start there.
// A page with a fragment shows that part of it, which takes the focus away when the page is loaded.
const feedback = document.querySelector(".summary:not([hidden]), [data-feedback]");
if (location.hash) {
  addEventListener("load", () => setTimeout(() => feedback?.focus({ preventScroll: true })));
} else {
  feedback?.focus();
}
