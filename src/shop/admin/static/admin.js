// Optional enhancements: every page works without this script.
"use strict";

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

for (const button of document.querySelectorAll("[data-print]")) {
  button.hidden = false;
  button.addEventListener("click", () => print());
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

const summary = document.querySelector(".summary");
if (summary) summary.focus();
