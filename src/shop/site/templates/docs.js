"use strict";
const one = (selector, within = document) => within.querySelector(selector);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const key = (name) => one("#key-" + name).value.trim();
const API = "/api/v2/";

function element(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

// The header of each credential that the reader has entered.
const held = {
  order_token: () => key("order_token") && ["X-Shop-Order-Token", key("order_token")],
  user_token: () => key("user_token") && ["Authorization", "Bearer " + key("user_token")],
  platform_token: () => key("platform_token") && ["Authorization", "Bearer " + key("platform_token")],
  client: () => key("client_id") && ["Authorization", "Basic " + btoa(key("client_id") + ":" + key("client_secret"))],
};
const named = { order_token: "order token", user_token: "user token", platform_token: "platform token", client: "client" };
const credentialsOf = (article) => article.dataset.credentials.split(" ").filter(Boolean);

function withCredentials(article, headers) {
  for (const name of credentialsOf(article)) {
    const sent = held[name]();
    if (sent) headers.set(...sent);
  }
  return headers;
}

function showWhatIsSent() {
  for (const article of all("article[data-credentials]")) {
    const names = credentialsOf(article);
    const sent = names.filter((name) => held[name]()).map((name) => named[name]);
    const missing = names.length ? "No " + names.map((name) => named[name]).join(" or ") + " entered" : "No credential required";
    const sends = one("[data-role=sends]", article);
    // An operation that takes a file has no Run form.
    if (sends) sends.textContent = sent.length ? "Sends the " + sent.join(" and the ") : missing;
  }
}

// Ids differ in every shop: an example uses the id of the first existing record.
const PLACEHOLDER = "01890a5d-ac96-774b-bcce-b302099a8057";
const plural = (noun) => noun.endsWith("y") ? noun.slice(0, -1) + "ies" : noun + (noun.endsWith("s") ? "es" : "s");
const lineItem = [API + "storefront/cart", (found) => found.data.relationships.line_items.data[0].id];
const address = [API + "storefront/account/addresses?per_page=1", (found) => found.data[0].id];
const shipment = [API + "storefront/checkout/shipping_rates", (found) => found.data[0].id];
const finders = {
  variant_id: [API + "storefront/products?filter[purchasable]=true&per_page=1", (found) => found.data[0].relationships.default_variant.data.id],
  line_item_id: lineItem,
  bill_address_id: address,
  ship_address_id: address,
  shipment_id: shipment,
  payment_method_id: [API + "storefront/checkout/payment_methods", (found) => found.data[0].id],
  shipping_method_id: [API + "storefront/checkout/shipping_rates", (found) => found.included.find((row) => row.type === "shipping_rate").attributes.shipping_method_id],
  number: [API + "storefront/account/orders?per_page=1", (found) => found.data[0].attributes.number],
  wishlist_token: [API + "storefront/wishlists?per_page=1", (found) => found.data[0].attributes.token],
  item_id: [API + "storefront/wishlists?per_page=1", (found) => found.data[0].relationships.wished_items.data[0].id],
};
function finderOf(name, article) {
  const path = article.dataset.path;
  const first = (found) => found.data[0].id;
  if (path.includes("remove_line_item")) return lineItem;
  if (name === "id") return [path.split("/{id}")[0] + "?per_page=1", first];
  if (!path.startsWith(API + "platform/")) return finders[name];
  return name.endsWith("_id") && [API + "platform/" + plural(name.slice(0, -3)) + "?per_page=1", first];
}
async function findExample(name, article) {
  const finder = finderOf(name, article);
  if (!finder) return "";
  try {
    const answer = await fetch(finder[0], { headers: withCredentials(article, new Headers()), credentials: "omit" });
    return finder[1](await answer.json()) || "";
  } catch { return ""; }
}
async function fillIn(article, form) {
  for (const field of all("input[data-place=path]", form)) {
    if (field.value === "") field.value = await findExample(field.name, article);
  }
  const body = one("[data-role=body]", form);
  for (const [, name] of body ? body.value.matchAll(new RegExp('"(\\w+)": "' + PLACEHOLDER + '"', "g")) : []) {
    const id = await findExample(name, article);
    if (id) body.value = body.value.replace('"' + name + '": "' + PLACEHOLDER + '"', '"' + name + '": "' + id + '"');
  }
}

function requestOf(article, form) {
  const fields = all("input[data-place]", form).filter((field) => field.value !== "");
  const placed = (place) => fields.filter((field) => field.dataset.place === place).map((field) => [field.name, field.value]);
  let path = article.dataset.path;
  for (const [name, value] of placed("path")) path = path.replace("{" + name + "}", encodeURIComponent(value));
  const filters = one("[data-role=filters]", form);
  const query = [new URLSearchParams(placed("query")).toString(), filters ? filters.value.trim() : ""].filter(Boolean).join("&");
  const headers = withCredentials(article, new Headers(placed("header")));
  const body = one("[data-role=body]", form);
  const hasBody = body && body.value.trim() !== "";
  if (hasBody) headers.set("Content-Type", article.dataset.media);
  const options = { method: article.dataset.method, headers, credentials: "omit", cache: "no-store" };
  return [path + (query && "?" + query), hasBody ? { ...options, body: body.value } : options];
}

// Fills in the token of a new cart or sign-in for the next examples.
function keep(article, shown) {
  const token = shown && shown.data && shown.data.type === "cart" && shown.data.attributes && shown.data.attributes.token;
  const access = shown && shown.access_token;
  const name = token ? "order_token" : article.dataset.path.includes("oauth") ? "platform_token" : "user_token";
  if (!token && !access) return "";
  one("#key-" + name).value = token || access;
  showWhatIsSent();
  return "The " + named[name] + " is filled in for the next requests.";
}

async function run(article, form) {
  const result = one("[data-role=result]", form);
  const button = one("button[type=submit]", form);
  button.disabled = true;
  try {
    await fillIn(article, form);
    const started = performance.now();
    const answer = await fetch(...requestOf(article, form));
    const text = await answer.text();
    const took = Math.round(performance.now() - started);
    let shown = null;
    try { shown = JSON.parse(text); } catch { shown = null; }
    const headers = [...answer.headers].map(([name, value]) => name + ": " + value).join("\n");
    const line = answer.status + " " + answer.statusText + " · " + took + " ms";
    const kept = answer.ok ? keep(article, shown) : "";
    result.replaceChildren(
      element("p", { className: "outcome " + (answer.ok ? "good" : "bad") }, line),
      ...(kept ? [element("p", { className: "quiet" }, kept)] : []),
      element("details", {}, element("summary", {}, "Headers"), element("pre", { tabIndex: 0 }, headers)),
      element("pre", { tabIndex: 0, className: "body" }, shown === null ? text || "No body." : JSON.stringify(shown, null, 2)),
    );
  } catch (problem) {
    result.replaceChildren(element("p", { className: "outcome bad" }, "No response: " + problem.message));
  } finally {
    button.disabled = false;
  }
}

function addCopyButtons() {
  if (!navigator.clipboard) return;
  for (const command of all("pre.curl")) {
    const button = element("button", { type: "button", className: "copy" }, "Copy");
    button.setAttribute("aria-label", "Copy: " + command.getAttribute("aria-label"));
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(command.textContent);
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
    command.previousElementSibling.append(button);
  }
}

// Shows the parts that need this script; without it, every page is complete and shows its commands.
function begin() {
  for (const part of all(".run, .scripted")) part.hidden = false;
  addCopyButtons();
  showWhatIsSent();
}

document.addEventListener("submit", (event) => {
  event.preventDefault();
  const article = event.target.closest("article");
  if (article) run(article, event.target);
});
document.addEventListener("change", (event) => {
  if (event.target.matches("[data-role=shape]")) one("[data-role=body]", event.target.form).value = event.target.value;
});
one("#keys").addEventListener("input", showWhatIsSent);

// Replaces the section without a reload, so that entered credentials are not lost.
const isSection = (path) => path === "/docs" || path.startsWith("/docs/");
async function visit(url, isNew) {
  const answer = await fetch(url.pathname);
  if (!answer.ok) { location.href = url.href; return; }
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (isNew) history.pushState(null, "", url.href);
  document.title = page.title;
  one("main").replaceWith(one("main", page));
  for (const link of all("nav a")) {
    if (link.pathname === url.pathname) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
  }
  begin();
  show(url.hash);
}
function show(hash) {
  const target = hash && document.getElementById(hash.slice(1));
  if (target) target.scrollIntoView(); else scrollTo(0, 0);
  const shown = target || one("main");
  shown.tabIndex = -1;
  shown.focus({ preventScroll: true });
}
let here = location.pathname;
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href]");
  if (!link || event.metaKey || event.ctrlKey || event.shiftKey || link.origin !== location.origin || !isSection(link.pathname)) return;
  if (isNarrow.matches) menu.open = false;
  clearSearch();
  if (link.pathname === here) return;
  event.preventDefault();
  here = link.pathname;
  visit(new URL(link.href), true);
});
addEventListener("popstate", () => {
  if (location.pathname === here) return;
  here = location.pathname;
  visit(new URL(location.href), false);
});

const menu = one("nav .menu");
const isNarrow = matchMedia("(max-width: 52rem)");
menu.open = !isNarrow.matches;
isNarrow.addEventListener("change", () => { menu.open = !isNarrow.matches; });

const search = one("#search"), results = one("#results"), MOST = 30;
let operations = null;
async function find() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  operations = operations || (await (await fetch("/docs/operations.json")).json());
  const fits = (row) => words.every((word) => (row.method + " " + row.path + " " + row.summary + " " + row.id + " " + row.section).toLowerCase().includes(word));
  const found = words.length ? operations.filter(fits) : [];
  // Matches in the summary come before matches in the path.
  const isCalled = (row) => words.every((word) => row.summary.toLowerCase().includes(word));
  found.sort((left, right) => isCalled(right) - isCalled(left));
  one("#found").textContent = words.length ? found.length + (found.length === 1 ? " operation" : " operations") : "";
  results.replaceChildren(...found.slice(0, MOST).map((row) => element("li", {}, element("a", { href: row.page },
    element("span", { className: "verb " + row.method.toLowerCase() }, row.method),
    element("span", {}, row.summary, element("span", { className: "kind" }, row.section))))));
}
function clearSearch() {
  search.value = "";
  results.replaceChildren();
  one("#found").textContent = "";
}
search.addEventListener("input", find);
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !event.target.closest("input, textarea, select")) { event.preventDefault(); search.focus(); }
  if (event.key === "Escape" && event.target === search) clearSearch();
});
begin();
