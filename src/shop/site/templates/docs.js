"use strict";
const one = (selector, within = document) => within.querySelector(selector);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const key = (name) => one("#key-" + name).value.trim();

// What only works with this script is shown by it; without it the page is whole, with its commands.
for (const part of all(".filter, .run, .scripted, #keys")) part.hidden = false;
const menu = one("nav .menu");
const isNarrow = matchMedia("(max-width: 52rem)");
menu.open = !isNarrow.matches;
isNarrow.addEventListener("change", () => { menu.open = !isNarrow.matches; });
menu.addEventListener("click", (event) => { if (isNarrow.matches && event.target.closest("a")) menu.open = false; });

// Which of a person's credentials an operation reads.
const held = {
  order_token: () => key("order_token") && ["X-Shop-Order-Token", key("order_token")],
  user_token: () => key("user_token") && ["Authorization", "Bearer " + key("user_token")],
  platform_token: () => key("platform_token") && ["Authorization", "Bearer " + key("platform_token")],
  client: () => key("client_id") && ["Authorization", "Basic " + btoa(key("client_id") + ":" + key("client_secret"))],
};
const named = { order_token: "order token", user_token: "user token", platform_token: "platform token", client: "client" };

function showWhatIsSent() {
  for (const article of all("article[data-credentials]")) {
    const names = article.dataset.credentials.split(" ").filter(Boolean);
    const sent = names.filter((name) => held[name]()).map((name) => named[name]);
    const missing = names.length ? "No " + names.map((name) => named[name]).join(" or ") + " given" : "Without a credential";
    const sends = one("[data-role=sends]", article);
    // What takes a file is not run from here.
    if (sends) sends.textContent = sent.length ? "With the " + sent.join(" and the ") : missing;
  }
}
one("#keys").addEventListener("input", showWhatIsSent);
one("#keys").addEventListener("submit", (event) => event.preventDefault());
showWhatIsSent();

function requestOf(article, form) {
  const fields = all("input[data-place]", form).filter((field) => field.value !== "");
  const placed = (place) => fields.filter((field) => field.dataset.place === place).map((field) => [field.name, field.value]);
  let path = article.dataset.path;
  for (const [name, value] of placed("path")) path = path.replace("{" + name + "}", encodeURIComponent(value));
  const query = new URLSearchParams(placed("query")).toString();
  const headers = new Headers(placed("header"));
  for (const name of article.dataset.credentials.split(" ").filter(Boolean)) {
    const sent = held[name]();
    if (sent) headers.set(...sent);
  }
  const body = one("[data-role=body]", form);
  const hasBody = body && body.value.trim() !== "";
  if (hasBody) headers.set("Content-Type", "application/json");
  const options = { method: article.dataset.method, headers, credentials: "omit", cache: "no-store" };
  return [path + (query && "?" + query), hasBody ? { ...options, body: body.value } : options];
}

function element(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

// A cart's own token and a sign-in's are what the next example needs.
function keep(article, shown) {
  const token = shown && shown.data && shown.data.type === "cart" && shown.data.attributes && shown.data.attributes.token;
  const access = shown && shown.access_token;
  const name = token ? "order_token" : article.dataset.path.includes("oauth") ? "platform_token" : "user_token";
  if (!token && !access) return "";
  one("#key-" + name).value = token || access;
  showWhatIsSent();
  return "The " + named[name] + " is now used for what you run next.";
}

async function run(article, form) {
  const result = one("[data-role=result]", form);
  const button = one("button[type=submit]", form);
  button.disabled = true;
  const started = performance.now();
  try {
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
    result.replaceChildren(element("p", { className: "outcome bad" }, "No answer: " + problem.message));
  } finally {
    button.disabled = false;
  }
}
for (const form of all("form.run")) {
  const article = form.closest("article");
  form.addEventListener("submit", (event) => { event.preventDefault(); run(article, form); });
  const shape = one("[data-role=shape]", form);
  if (shape) shape.addEventListener("change", () => { one("[data-role=body]", form).value = shape.value; });
}

if (navigator.clipboard) {
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

const filter = one("#filter");
const sections = all("main > section:not(.api)");
filter.addEventListener("input", () => {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  for (const article of all("article")) {
    const text = (article.dataset.method + " " + article.dataset.path + " " + one("h4", article).textContent).toLowerCase();
    const fits = words.every((word) => text.includes(word));
    article.hidden = !fits;
    one("nav li[data-for='" + article.id + "']").hidden = !fits;
    count += fits ? 1 : 0;
  }
  for (const topic of all("section.topic")) topic.hidden = !one("article:not([hidden])", topic);
  for (const api of all("section.api")) api.hidden = !one("article:not([hidden])", api);
  for (const topic of all("nav .topic")) topic.hidden = !one("li:not([hidden])", topic);
  for (const section of sections) section.hidden = words.length > 0;
  one("#found").textContent = words.length ? count + (count === 1 ? " operation" : " operations") : "";
});
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !event.target.closest("input, textarea, select")) { event.preventDefault(); filter.focus(); }
});
