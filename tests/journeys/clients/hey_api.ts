// A purchase with the client that @hey-api/openapi-ts generates.
import { client } from "./hey/client.gen";
import {
  addItemToCart,
  completeCheckout,
  createCart,
  createCheckoutPayment,
  listCheckoutPaymentMethods,
  listCheckoutShippingRates,
  listStorefrontProducts,
  signIn,
  updateCheckout,
} from "./hey/sdk.gen";

function argument(place: number): string {
  return must(process.argv[place], "two arguments are needed");
}

function must<T>(value: T | null | undefined, what: unknown): T {
  if (value === null || value === undefined) throw new Error(JSON.stringify(what));
  return value;
}

async function signInAs(baseUrl: string, email: string): Promise<string> {
  const asked = await signIn({ body: { user: { email } } });
  if (!asked.data || !("message" in asked.data)) throw new Error(JSON.stringify(asked.error));
  const mails: { code: string }[] = await (await fetch(`${baseUrl}/mailbox.json?to=${encodeURIComponent(email)}`)).json();
  const traded = await signIn({ body: { user: { email, code: must(mails[0], "no mail").code } } });
  if (!traded.data || !("access_token" in traded.data)) throw new Error(JSON.stringify(traded.error));
  return traded.data.access_token;
}

async function main(): Promise<void> {
  const [baseUrl, email] = [argument(2), argument(3)];
  client.setConfig({ baseUrl });
  const headers = { Authorization: `Bearer ${await signInAs(baseUrl, email)}` };
  client.setConfig({ baseUrl, headers });
  const products = await listStorefrontProducts({
    query: { "filter[in_stock]": true, "filter[options]": { colour: "amber" }, per_page: 1 },
  });
  const product = must(products.data?.data[0], products.error);
  const variant = must(product.relationships.default_variant?.data, product);
  must((await createCart({ body: { currency: "USD" } })).data, "no cart");
  const filled = await addItemToCart({ body: { variant_id: variant.id, quantity: 2 } });
  if (must(filled.data, filled.error).data.attributes.item_count !== 2) throw new Error("not two");
  const address = {
    firstname: "Ada", lastname: "Lovelace", address1: "1 Main Street", city: "Springfield",
    zipcode: "62701", state_name: "IL", country_iso: "US", phone: "555-0100",
  };
  const told = await updateCheckout({ body: { order: { email, bill_address_attributes: address, use_billing: true } } });
  must(told.data, told.error);
  const shipments = await listCheckoutShippingRates();
  const shipment = must(shipments.data?.data[0], shipments.error);
  const rate = must(shipment.relationships.shipping_rates?.data[0], shipment);
  const choice = { id: shipment.id, selected_shipping_rate_id: rate.id };
  const chosen = await updateCheckout({ body: { order: { shipments_attributes: [choice] } } });
  must(chosen.data, chosen.error);
  const methods = await listCheckoutPaymentMethods();
  const card = must(methods.data?.data.find((method) => method.attributes.type === "test_card"), methods.error);
  const paid = await createCheckoutPayment({
    body: { payment_method_id: card.id, source_attributes: { gateway_payment_profile_id: "approve" } },
  });
  must(paid.data, paid.error);
  const order = await completeCheckout();
  const attributes = must(order.data, order.error).data.attributes;
  if (attributes.state !== "complete") throw new Error(attributes.state);
  console.log(must(attributes.number, attributes));
}

main().catch((problem) => { console.error(problem); process.exit(1); });
