// What the programs with Spree's JavaScript SDK share. The first argument is the address of the shop.
const assert = require("node:assert/strict");
const { makeClient } = require("@spree/storefront-api-v2-sdk");
const createFetcher = require("@spree/axios-fetcher").default;

const host = process.argv[2];
const client = makeClient({ host, createFetcher });
const address = {
  firstname: "Ada", lastname: "Lovelace", address1: "1 Main Street", city: "Springfield",
  zipcode: "62701", state_name: "IL", country_iso: "US", phone: "555-0100",
};
const card = { gateway_payment_profile_id: "approve", name: "Ada Lovelace", month: "12", year: "2039", last_digits: "4242" };

// The SDK returns a Result instead of throwing.
function body(result) {
  if (result.isSuccess()) return result.success();
  const problem = result.fail();
  throw new Error(`${problem.name}: ${problem.message}: ${problem.summary} ${JSON.stringify(problem.errors)}`);
}

const related = (document, type) => (document.included ?? []).filter((record) => record.type === type);

async function authenticate(user) {
  const headers = { "Content-Type": "application/json" };
  const response = await fetch(`${host}/api/v2/storefront/auth`, { method: "POST", headers, body: JSON.stringify({ user }) });
  assert.ok(response.ok, `sign-in: ${response.status}`);
  return response.json();
}

// The SDK knows the password grant only; the code is in the demo's mailbox.
async function signIn(email) {
  await authenticate({ email });
  const mails = await (await fetch(`${host}/mailbox.json?to=${encodeURIComponent(email)}`)).json();
  return authenticate({ email, code: mails.find(({ code }) => code).code });
}

async function assertLoads(url) {
  const response = await fetch(url);
  assert.equal(response.status, 200, url);
  assert.match(response.headers.get("content-type"), /^image\//);
}

async function findCardMethod(token) {
  const methods = body(await client.checkout.paymentMethods(token)).data;
  return methods.find((method) => method.attributes.type === "test_card") ?? assert.fail(JSON.stringify(methods));
}

async function runSteps(steps) {
  for (const [name, step] of Object.entries(steps)) {
    try {
      await step();
    } catch (problem) {
      console.error(name, problem);
      process.exit(1);
    }
    console.log(name);
  }
}

module.exports = { address, assertLoads, body, card, client, findCardMethod, host, related, runSteps, signIn };
