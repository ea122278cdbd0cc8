// Passkeys: asks the device for one, and submits the form with its answer.
"use strict";

const toBytes = (text) =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
const toText = (buffer) =>
  btoa(String.fromCharCode(...new Uint8Array(buffer))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

function readOptions(options) {
  options.challenge = toBytes(options.challenge);
  if (options.user) options.user.id = toBytes(options.user.id);
  for (const credential of [...(options.allowCredentials ?? []), ...(options.excludeCredentials ?? [])]) {
    credential.id = toBytes(credential.id);
  }
  return options;
}

function writeCredential(credential) {
  const { id, rawId, type, response } = credential;
  const parts = { clientDataJSON: toText(response.clientDataJSON) };
  for (const name of ["attestationObject", "authenticatorData", "signature", "userHandle"]) {
    if (response[name]) parts[name] = toText(response[name]);
  }
  return JSON.stringify({ id, rawId: toText(rawId), type, response: parts });
}

const problems = {
  NotAllowedError: "No passkey was used. Try again when you are ready.",
  InvalidStateError: "This device has a passkey for your account already.",
  SecurityError: "Passkeys do not work at this address.",
};

async function askDevice(form) {
  const body = new URLSearchParams(form.elements.csrf ? { csrf: form.elements.csrf.value } : {});
  const response = await fetch(form.dataset.options, { method: "POST", body });
  if (response.redirected) {
    location.assign(response.url);
    return;
  }
  if (!response.ok) throw new Error("The shop did not answer. Reload the page and try again.");
  const publicKey = readOptions(await response.json());
  form.elements.credential.value = writeCredential(await navigator.credentials[form.dataset.passkey]({ publicKey }));
  form.submit();
}

for (const note of document.querySelectorAll("[data-without-script]")) note.hidden = true;

for (const form of document.querySelectorAll("form[data-passkey]")) {
  const problem = form.querySelector("[data-problem]");
  const button = form.querySelector("button");
  form.hidden = false;
  const show = (text) => {
    problem.hidden = false;
    problem.textContent = text;
    problem.focus();
  };
  if (!window.PublicKeyCredential) {
    button.disabled = true;
    problem.hidden = false;
    problem.textContent = "This browser does not support passkeys.";
  }
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    problem.hidden = true;
    button.disabled = true;
    try {
      await askDevice(form);
    } catch (error) {
      show(problems[error.name] ?? error.message);
    }
    button.disabled = false;
  });
}
