// Progressive enhancement of the website: every page and form also works without this script.
//
// Markup that it looks for:
//   [data-cart-count]             shows the number of items in the cart, from the cookie __Host-shop_count
//   form[action="/cart/items"]    is sent in place; the server answers {count, text, cart_url} or {error}
//   input[data-suggest]           shows suggestions from /suggest?q=: [{name, url, image, price}]
//   script[data-variants]         [{id, options: {type: value}, price, compare_at, stock, purchasable,
//                                 image}] of a product; `image` is an index of the gallery. In [data-product]:
//                                 radio buttons option[type] in .option with [data-sold-out], [data-price],
//                                 [data-stock], [data-buy] (the button), [data-variant-id] (fields of other forms),
//                                 [data-notify] (a form for sold-out variants)
//   [data-gallery]                a[data-zoom] with the main image; .thumbnails a with data-src, data-srcset,
//                                 data-width, data-height, data-large and data-alt of the image that it shows
//   select[data-submit]           submits its form when it changes; the stylesheet hides [data-without-script]
//   button[data-step]             adds its number to the field beside it, and submits form[data-submit]
//   button[data-copy]             copies the value of the field with this id
//   [data-resend-seconds]         a button that is disabled while its seconds count down
//   form with the method get      is sent without its empty fields, which keeps addresses short
//   form[data-once]               is sent once; its button shows data-busy, or "Processing…"
//   form[data-auto-submit]        is sent when the page is loaded
//   details[data-menu]            closes on Escape and on a click outside
//   .error-summary                receives the focus

const find = (selector, root = document) => root.querySelector(selector);
const findAll = (selector, root = document) => [...root.querySelectorAll(selector)];

function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

// Cart count

function readCount() {
  const match = document.cookie.match(/(?:^|;\s*)__Host-shop_count=(\d{1,6})(?:;|$)/);
  return match ? Number(match[1]) : 0;
}

function showCount(count = readCount()) {
  for (const badge of findAll("[data-cart-count]")) {
    badge.textContent = count > 99 ? "99+" : String(count);
    badge.hidden = count === 0;
    const link = badge.closest("a");
    if (link) link.setAttribute("aria-label", count === 0 ? "Cart" : `Cart, ${count} ${count === 1 ? "item" : "items"}`);
  }
}

// Messages

const TOAST_MILLISECONDS = 8000;
const messages = element("div", { role: "status" });
let toastTimer = 0;

function hideToast() {
  clearTimeout(toastTimer);
  messages.replaceChildren();
}

function showToast(text, link = null, isError = false) {
  hideToast();
  const close = element("button", { type: "button", class: "icon-button", "aria-label": "Close" }, "×");
  close.addEventListener("click", hideToast);
  const toast = element("div", { class: isError ? "toast problem" : "toast" }, element("span", {}, text), link, close);
  messages.append(toast);
  const start = () => {
    clearTimeout(toastTimer);
    if (!isError) toastTimer = setTimeout(hideToast, TOAST_MILLISECONDS);
  };
  for (const event of ["pointerenter", "focusin"]) toast.addEventListener(event, () => clearTimeout(toastTimer));
  for (const event of ["pointerleave", "focusout"]) toast.addEventListener(event, start);
  start();
}

// Add to cart

async function addToCart(form, button) {
  if (form.ariaBusy === "true") return;
  form.ariaBusy = "true";
  const body = new URLSearchParams(new FormData(form, button));
  if (button) button.disabled = true;
  try {
    const response = await fetch(form.action, { method: "POST", body, headers: { accept: "application/json" } });
    const answer = await response.json();
    if (!response.ok) {
      showToast(answer.error ?? "That did not work. Please try again.", null, true);
      return;
    }
    showCount(answer.count);
    showToast(answer.text ?? "Added to your cart.", element("a", { href: answer.cart_url ?? "/cart" }, "View cart"));
  } catch {
    showToast("That did not work. Please check your connection and your cart.", null, true);
  } finally {
    form.ariaBusy = null;
    if (button) button.disabled = false;
  }
}

// Forms that are sent once

function sendOnce(event, form, button) {
  if (form.ariaBusy === "true") {
    event.preventDefault();
    return;
  }
  form.ariaBusy = "true";
  // A disabled button would not be sent.
  setTimeout(() => {
    if (!button) return;
    button.dataset.label = button.textContent;
    button.textContent = form.dataset.busy || "Processing…";
    button.disabled = true;
  });
}

function allowAgain() {
  for (const form of findAll("form[data-once]")) {
    form.ariaBusy = null;
    for (const button of findAll("button[data-label]", form)) {
      button.textContent = button.dataset.label;
      button.disabled = false;
    }
  }
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (event.defaultPrevented || form.method !== "post") return;
  if (form.matches('[action="/cart/items"]')) {
    event.preventDefault();
    addToCart(form, event.submitter);
  } else if (form.matches("[data-once]")) {
    sendOnce(event, form, event.submitter ?? find("button", form));
  }
});

document.addEventListener("formdata", (event) => {
  if (event.target.method !== "get") return;
  for (const [name, value] of [...event.formData]) {
    if (value === "") event.formData.delete(name);
  }
});

// Suggestions

const SUGGEST_MILLISECONDS = 150;

class Suggestions {
  constructor(input, number) {
    this.input = input;
    this.timer = 0;
    this.request = null;
    this.index = -1;
    this.answers = new Map();
    // The header is the same on every page, so that it does not contain what was searched for.
    input.value ||= location.pathname === input.form?.getAttribute("action") ? (new URLSearchParams(location.search).get("q") ?? "") : "";
    this.list = element("div", { class: "suggestions", id: `suggestions-${number}`, role: "listbox", hidden: true });
    this.list.setAttribute("aria-label", "Suggestions");
    input.setAttribute("role", "combobox");
    input.setAttribute("aria-autocomplete", "list");
    input.setAttribute("aria-controls", this.list.id);
    input.setAttribute("aria-expanded", "false");
    input.after(this.list);
    input.addEventListener("input", () => this.wait());
    input.addEventListener("keydown", (event) => this.press(event));
    input.addEventListener("blur", () => this.close());
    // Keeps the focus in the field, so that a click on a suggestion does not close the list first.
    this.list.addEventListener("mousedown", (event) => event.preventDefault());
  }

  get options() {
    return findAll("[role=option]", this.list);
  }

  wait() {
    clearTimeout(this.timer);
    this.request?.abort();
    const text = this.input.value.trim();
    if (text.length < 2) {
      this.close();
      return;
    }
    this.timer = setTimeout(() => this.load(text), SUGGEST_MILLISECONDS);
  }

  async load(text) {
    this.request = new AbortController();
    try {
      if (!this.answers.has(text)) {
        const response = await fetch(`/suggest?q=${encodeURIComponent(text)}`, { signal: this.request.signal });
        if (!response.ok) return;
        this.answers.set(text, await response.json());
      }
      if (document.activeElement === this.input) this.show(this.answers.get(text));
    } catch {
      // Aborted by the next letter, or offline: the form still works.
    }
  }

  show(products) {
    this.list.replaceChildren(...products.map((product, index) => this.option(product, index)));
    this.select(-1);
    this.open(products.length > 0);
  }

  option(product, index) {
    const image = product.image ? element("img", { src: product.image, alt: "", width: 40, height: 40 }) : null;
    const price = product.price ? element("span", { class: "quiet" }, product.price) : null;
    const attributes = { role: "option", id: `${this.list.id}-${index}`, href: product.url, tabindex: -1 };
    return element("a", attributes, image, element("span", { class: "grow" }, product.name), price);
  }

  open(isOpen) {
    this.list.hidden = !isOpen;
    this.input.setAttribute("aria-expanded", String(isOpen));
  }

  close() {
    clearTimeout(this.timer);
    this.request?.abort();
    this.open(false);
    this.select(-1);
  }

  select(index) {
    this.index = index;
    this.options.forEach((option, position) => option.setAttribute("aria-selected", String(position === index)));
    const option = this.options[index];
    if (option) {
      this.input.setAttribute("aria-activedescendant", option.id);
      option.scrollIntoView({ block: "nearest" });
    } else {
      this.input.removeAttribute("aria-activedescendant");
    }
  }

  press(event) {
    if (this.list.hidden) return;
    const count = this.options.length;
    const steps = { ArrowDown: 1, ArrowUp: -1 };
    if (event.key in steps) {
      // Position -1 is the field itself.
      this.select(((this.index + 1 + steps[event.key] + count + 1) % (count + 1)) - 1);
    } else if (event.key === "Escape") {
      this.close();
    } else if (event.key === "Enter" && this.index >= 0) {
      this.options[this.index].click();
    } else {
      return;
    }
    event.preventDefault();
  }
}

// Gallery

function showImage(gallery, index) {
  const links = findAll(".thumbnails a", gallery);
  const link = links[index];
  const main = find("[data-zoom] img", gallery);
  if (!link || !main || !link.dataset.src) return false;
  main.sizes = main.sizes || "100vw";
  main.srcset = link.dataset.srcset ?? "";
  main.src = link.dataset.src;
  main.width = Number(link.dataset.width) || main.width;
  main.height = Number(link.dataset.height) || main.height;
  main.alt = link.dataset.alt || main.alt;
  main.closest("a").href = link.dataset.large ?? link.dataset.src;
  for (const other of links) other.toggleAttribute("aria-current", other === link);
  link.setAttribute("aria-current", "true");
  return true;
}

function zoom(link) {
  const image = element("img", { src: link.href, alt: find("img", link)?.alt ?? "" });
  const close = element("button", { type: "button", class: "icon-button zoom-close", "aria-label": "Close" }, "×");
  const dialog = element("dialog", { class: "zoom", "aria-label": "Larger image" }, close, image);
  dialog.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

function startGallery(gallery) {
  gallery.addEventListener("click", (event) => {
    // A click with a key opens a new tab or window.
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const thumbnail = event.target.closest(".thumbnails a");
    const main = event.target.closest("a[data-zoom]");
    if (thumbnail && showImage(gallery, findAll(".thumbnails a", gallery).indexOf(thumbnail))) {
      event.preventDefault();
    } else if (main && HTMLDialogElement.prototype.showModal) {
      event.preventDefault();
      zoom(main);
    }
  });
}

// Option pickers

class VariantPicker {
  constructor(data) {
    this.variants = JSON.parse(data.textContent);
    this.root = data.closest("[data-product]") ?? document;
    this.radios = findAll('input[type=radio][name^="option["]', this.root);
    if (this.radios.length === 0) return;
    for (const radio of this.radios) radio.addEventListener("change", () => this.update(true));
    this.update(false);
  }

  get choice() {
    const pairs = this.radios.filter((radio) => radio.checked).map((radio) => [this.typeOf(radio), radio.value]);
    return Object.fromEntries(pairs);
  }

  typeOf(radio) {
    return radio.name.slice("option[".length, -1);
  }

  matches(variant, choice) {
    return Object.entries(choice).every(([type, value]) => variant.options[type] === value);
  }

  update(isChange) {
    const choice = this.choice;
    for (const radio of this.radios) {
      const wish = { ...choice, [this.typeOf(radio)]: radio.value };
      const isAvailable = this.variants.some((variant) => variant.purchasable && this.matches(variant, wish));
      const option = radio.closest(".option");
      option?.classList.toggle("unavailable", !isAvailable);
      const hint = option && find("[data-sold-out]", option);
      if (hint) hint.hidden = isAvailable;
    }
    const types = new Set(this.radios.map((radio) => this.typeOf(radio)));
    const isComplete = Object.keys(choice).length === types.size;
    const variant = isComplete ? this.variants.find((each) => this.matches(each, choice)) : undefined;
    if (isChange && isComplete) this.show(variant);
  }

  show(variant) {
    const price = find("[data-price]", this.root);
    if (price && variant) price.replaceChildren(this.price(variant));
    const stock = find("[data-stock]", this.root);
    if (stock) {
      stock.textContent = variant ? variant.stock : "This combination is not available.";
      stock.classList.toggle("good", Boolean(variant?.purchasable));
      stock.classList.toggle("quiet", !variant?.purchasable);
    }
    const button = find("[data-buy]", this.root);
    if (button) {
      button.disabled = !variant?.purchasable;
      button.textContent = variant && !variant.purchasable ? "Sold out" : "Add to cart";
    }
    const notify = find("[data-notify]", this.root);
    if (notify) notify.hidden = !variant || variant.purchasable;
    if (!variant) return;
    for (const field of findAll("[data-variant-id]", this.root)) field.value = variant.id;
    const gallery = find("[data-gallery]");
    if (gallery && Number.isInteger(variant.image)) showImage(gallery, variant.image);
    const url = new URL(location.href);
    url.searchParams.set("variant", variant.id);
    url.searchParams.delete("image");
    history.replaceState(history.state, "", url);
  }

  price(variant) {
    const hidden = (text) => element("span", { class: "visually-hidden" }, text);
    if (!variant.compare_at) return element("span", { class: "price" }, variant.price ?? "");
    const sale = element("span", { class: "sale" }, variant.price);
    const before = element("s", {}, hidden("Before "), variant.compare_at);
    return element("span", { class: "price" }, hidden("Now "), sale, " ", before);
  }
}

// Quantities

const STEP_MILLISECONDS = 700;
let stepTimer = 0;

function changeQuantity(button, isPointer) {
  const field = find("input", button.parentElement);
  const value = Math.max(1, (Number.parseInt(field.value, 10) || 0) + Number(button.dataset.step));
  field.value = field.max ? Math.min(value, Number(field.max)) : value;
  clearTimeout(stepTimer);
  // A keyboard moves on to the button of the form: another page would lose the focus.
  if (isPointer && field.form.matches("[data-submit]")) stepTimer = setTimeout(() => field.form.requestSubmit(), STEP_MILLISECONDS);
}

// Copying

async function copyValue(button) {
  const field = document.getElementById(button.dataset.copy);
  field.select();
  try {
    await navigator.clipboard.writeText(field.value);
    showToast("The link is copied.");
  } catch {
    showToast("Your browser does not allow that. The link is selected: please copy it yourself.", null, true);
  }
}

document.addEventListener("click", (event) => {
  const step = event.target.closest("[data-step]");
  const copy = event.target.closest("[data-copy]");
  if (step) changeQuantity(step, event.detail > 0);
  if (copy) copyValue(copy);
});

// Countdown of a button

function startCountdown(button) {
  let seconds = Number(button.dataset.resendSeconds);
  const label = button.textContent;
  const tick = () => {
    button.disabled = seconds > 0;
    button.textContent = seconds > 0 ? `${label} (${seconds} s)` : label;
    if (seconds-- > 0) setTimeout(tick, 1000);
  };
  if (seconds > 0) tick();
}

// Menus

function closeMenus(isKept) {
  for (const menu of findAll("details[data-menu][open]")) {
    if (!isKept(menu)) menu.open = false;
  }
}

document.addEventListener("click", (event) => closeMenus((menu) => menu.contains(event.target)));
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  const menu = event.target instanceof Element ? event.target.closest("details[data-menu][open]") : null;
  closeMenus(() => false);
  if (menu) find("summary", menu).focus();
});

// Start

function start() {
  document.body.append(messages);
  showCount();
  findAll("input[data-suggest]").forEach((input, number) => new Suggestions(input, number));
  findAll("[data-gallery]").forEach(startGallery);
  findAll("script[data-variants]").forEach((data) => new VariantPicker(data));
  findAll("[data-resend-seconds]").forEach(startCountdown);
  for (const select of findAll("select[data-submit]")) {
    select.addEventListener("change", () => select.form.requestSubmit());
  }
  find(".error-summary")?.focus();
  // The back button shows the page again; sending the form once more would trap the shopper.
  const isBack = performance.getEntriesByType("navigation")[0]?.type === "back_forward";
  if (!isBack) find("form[data-auto-submit]")?.requestSubmit();
}

addEventListener("pageshow", (event) => {
  if (!event.persisted) return;
  showCount();
  allowAgain();
  hideToast();
});
start();
