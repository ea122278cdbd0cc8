// A purchase with the types that openapi-typescript generates.
import createClient from "openapi-fetch";
import type { paths } from "./shop";

function must<T>(value: T | null | undefined, what: unknown): T {
  if (value === null || value === undefined) throw new Error(JSON.stringify(what));
  return value;
}

const baseUrl = must(process.argv[2], "the address of the shop is needed");
const email = must(process.argv[3], "an e-mail address is needed");
const client = createClient<paths>({ baseUrl });

async function signIn(): Promise<string> {
  const asked = await client.POST("/api/v2/storefront/auth", { body: { user: { email } } });
  if (!asked.data || !("message" in asked.data)) throw new Error(JSON.stringify(asked.error));
  const mails: { code: string }[] = await (await fetch(`${baseUrl}/mailbox.json?to=${encodeURIComponent(email)}`)).json();
  const code = must(mails[0], "no mail").code;
  const traded = await client.POST("/api/v2/storefront/auth", { body: { user: { email, code } } });
  if (!traded.data || !("access_token" in traded.data)) throw new Error(JSON.stringify(traded.error));
  return traded.data.access_token;
}

async function main(): Promise<void> {
  const headers = { Authorization: `Bearer ${await signIn()}` };
  const products = await client.GET("/api/v2/storefront/products", {
    headers,
    params: { query: { "filter[in_stock]": true, "filter[options]": { colour: "amber" }, per_page: 1 } },
  });
  const product = must(products.data?.data[0], products.error);
  const variant = must(product.relationships.default_variant?.data, product);
  must((await client.POST("/api/v2/storefront/cart", { headers, body: { currency: "USD" } })).data, "no cart");
  const filled = await client.POST("/api/v2/storefront/cart/add_item", { headers, body: { variant_id: variant.id, quantity: 2 } });
  if (must(filled.data, filled.error).data.attributes.item_count !== 2) throw new Error("not two");
  const address = {
    firstname: "Ada", lastname: "Lovelace", address1: "1 Main Street", city: "Springfield",
    zipcode: "62701", state_name: "IL", country_iso: "US", phone: "555-0100",
  };
  const told = await client.PATCH("/api/v2/storefront/checkout", {
    headers,
    body: { order: { email, bill_address_attributes: address, use_billing: true } },
  });
  must(told.data, told.error);
  const shipments = await client.GET("/api/v2/storefront/checkout/shipping_rates", { headers });
  const shipment = must(shipments.data?.data[0], shipments.error);
  const rate = must(shipment.relationships.shipping_rates?.data[0], shipment);
  const chosen = await client.PATCH("/api/v2/storefront/checkout", {
    headers,
    body: { order: { shipments_attributes: [{ id: shipment.id, selected_shipping_rate_id: rate.id }] } },
  });
  must(chosen.data, chosen.error);
  const methods = await client.GET("/api/v2/storefront/checkout/payment_methods", { headers });
  const card = must(methods.data?.data.find((method) => method.attributes.type === "test_card"), methods.error);
  const paid = await client.POST("/api/v2/storefront/checkout/create_payment", {
    headers,
    body: { payment_method_id: card.id, source_attributes: { gateway_payment_profile_id: "approve" } },
  });
  must(paid.data, paid.error);
  const order = await client.PATCH("/api/v2/storefront/checkout/complete", { headers });
  const attributes = must(order.data, order.error).data.attributes;
  if (attributes.state !== "complete") throw new Error(attributes.state);
  console.log(must(attributes.number, attributes));
}

main().catch((problem) => { console.error(problem); process.exit(1); });
