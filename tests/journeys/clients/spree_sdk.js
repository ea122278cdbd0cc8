// A shop visit in 24 steps with Spree's JavaScript SDK: catalog, guest checkout, account. Each step prints its name.
const assert = require("node:assert/strict");
const { address, assertLoads, body, card, client, findCardMethod, host, related, runSteps, signIn } = require("./spree.js");

const [email, coupon] = process.argv.slice(3);
let product, variant, order_token, number, bearer_token;

const cents = (amount) => Math.round(Number(amount) * 100);

async function fillGuestCart() {
  const { token } = body(await client.cart.create()).data.attributes;
  body(await client.cart.addItem({ order_token: token, variant_id: variant.id, quantity: 1 }));
  return token;
}

const steps = {
  "list products": async () => {
    const query = { filter: { in_stock: true }, include: "default_variant,images", sort: "-price", page: 1, per_page: 3 };
    const products = body(await client.products.list(query));
    assert.equal(products.data.length, 3);
    assert.ok(products.meta.total_count > 3 && products.links.next);
    product = products.data[0];
    variant = related(products, "variant").find(({ id }) => id === product.relationships.default_variant.data.id);
    await assertLoads(host + related(products, "image")[0].attributes.styles[0].url);
  },
  "show a product by id and by slug": async () => {
    const include = "variants.images,option_types,product_properties,taxons";
    const byId = body(await client.products.show({ id: product.id, include }));
    const bySlug = body(await client.products.show({ id: product.attributes.slug, image_transformation: { size: "300x300" } }));
    assert.equal(byId.data.id, product.id);
    assert.deepEqual(bySlug.data, byId.data);
    assert.deepEqual(related(byId, "variant").length, byId.data.relationships.variants.data.length);
  },
  "list and show taxons": async () => {
    const taxons = body(await client.taxons.list({ include: "children,parent", per_page: 100 })).data;
    const child = taxons.find(({ relationships }) => relationships.parent.data) ?? assert.fail("no child");
    const shown = body(await client.taxons.show({ id: child.attributes.permalink, include: "products" }));
    assert.equal(shown.data.id, child.id);
    const found = body(await client.products.list({ filter: { taxons: child.id } }));
    assert.ok(found.meta.total_count > 0);
  },
  "list and show countries": async () => {
    const countries = body(await client.countries.list()).data;
    assert.ok(countries.some(({ attributes }) => attributes.iso === "US"));
    const shown = body(await client.countries.show({ iso: "US", include: "states" }));
    assert.ok(related(shown, "state").some(({ attributes }) => attributes.abbr === "IL"));
    assert.ok(body(await client.countries.default()).data.attributes.default);
  },
  "read menus and pages": async () => {
    const menus = body(await client.menus.list({ include: "menu_items" }));
    assert.ok(related(menus, "menu_item").length > 0);
    const page = body(await client.pages.list()).data[0];
    assert.deepEqual(body(await client.pages.show({ id: page.attributes.slug })).data, page);
  },
  "create a cart": async () => {
    const cart = body(await client.cart.create({ include: "line_items" })).data.attributes;
    ({ token: order_token, number } = cart);
    assert.deepEqual([cart.item_count, cart.total, cart.state], [0, "0.0", "cart"]);
  },
  "add an item": async () => {
    const cart = body(await client.cart.addItem({ order_token, variant_id: variant.id, quantity: 1, include: "line_items.variant" }));
    assert.deepEqual(related(cart, "variant").map(({ id }) => id), [variant.id]);
    assert.equal(cart.data.attributes.item_total, variant.attributes.price);
  },
  "set the quantity": async () => {
    const line = related(body(await client.cart.show({ order_token, include: "line_items" })), "line_item")[0];
    const cart = body(await client.cart.setQuantity({ order_token, line_item_id: line.id, quantity: 2 })).data.attributes;
    assert.equal(cart.item_count, 2);
    assert.equal(cents(cart.item_total), 2 * cents(variant.attributes.price));
    const refused = (await client.cart.setQuantity({ order_token, line_item_id: line.id, quantity: 0 })).fail();
    assert.equal(refused.serverResponse.status, 422);
  },
  "apply a coupon": async () => {
    const cart = body(await client.cart.applyCouponCode({ order_token, coupon_code: coupon, include: "promotions" }));
    assert.ok(related(cart, "promotion").some(({ attributes }) => attributes.code === coupon.toLowerCase()));
    assert.ok(Number(cart.data.attributes.promo_total) < 0);
  },
  "remove the coupon": async () => {
    const cart = body(await client.cart.removeCouponCode({ order_token, code: coupon, include: "promotions" }));
    assert.ok(related(cart, "promotion").every(({ attributes }) => attributes.code !== coupon.toLowerCase()));
    const refused = await client.cart.applyCouponCode({ order_token, coupon_code: "UNKNOWN" });
    assert.ok(refused.isFail() && refused.fail().summary);
  },
  "estimate shipping rates": async () => {
    const rates = body(await client.cart.estimateShippingRates({ order_token, country_iso: "US" })).data;
    assert.ok(rates.length > 0 && rates.every(({ type, attributes }) => type === "shipping_rate" && attributes.display_cost));
  },
  "give e-mail and addresses": async () => {
    const wrong = await client.checkout.orderUpdate({ order_token, order: { email, bill_address_attributes: { ...address, city: "", zipcode: "" } } });
    assert.equal(wrong.fail().name, "ExpandedSpreeError");
    const order = { email, bill_address_attributes: address, ship_address_attributes: { ...address, address1: "2 Main Street" } };
    const cart = body(await client.checkout.orderUpdate({ order_token, order, include: "billing_address,shipping_address" }));
    assert.equal(cart.data.attributes.email, email);
    const streets = related(cart, "address").map(({ attributes }) => attributes.address1);
    assert.deepEqual(streets.sort(), ["1 Main Street", "2 Main Street"]);
  },
  "list shipping rates": async () => {
    const shipments = body(await client.checkout.shippingRates({ order_token, include: "shipping_rates,stock_location" }));
    assert.equal(shipments.data.length, 1);
    assert.ok(related(shipments, "shipping_rate").length > 1);
  },
  "select a shipping method": async () => {
    const shipments = body(await client.checkout.shippingRates({ order_token, include: "shipping_rates" }));
    const rate = related(shipments, "shipping_rate").find(({ attributes }) => !attributes.selected);
    const chosen = { shipment_id: shipments.data[0].id, shipping_method_id: rate.attributes.shipping_method_id };
    const cart = body(await client.checkout.selectShippingMethod({ order_token, ...chosen })).data.attributes;
    assert.equal(cart.ship_total, rate.attributes.cost);
  },
  "list payment methods": async () => {
    const method = await findCardMethod({ order_token });
    assert.ok(method.attributes.name);
  },
  "add a payment": async () => {
    const payment_method_id = (await findCardMethod({ order_token })).id;
    const cart = body(await client.checkout.addPayment({ order_token, payment_method_id, source_attributes: card, include: "payments" }));
    assert.deepEqual(related(cart, "payment").map(({ attributes }) => attributes.amount), [cart.data.attributes.total]);
  },
  "advance the checkout": async () => {
    const cart = body(await client.checkout.advance({ order_token })).data.attributes;
    assert.deepEqual([cart.state, cart.number], ["confirm", number]);
  },
  "complete the checkout": async () => {
    const order = body(await client.checkout.complete({ order_token, include: "line_items,shipments" }));
    assert.deepEqual([order.data.attributes.state, order.data.attributes.number], ["complete", number]);
    assert.ok(order.data.attributes.completed_at);
    assert.deepEqual(related(order, "line_item").map(({ attributes }) => attributes.quantity), [2]);
  },
  "read the order's status by its token": async () => {
    const order = body(await client.order.status({ order_token, order_number: number, include: "payments" }));
    assert.equal(order.data.attributes.state, "complete");
    assert.equal(related(order, "payment").length, 1);
    assert.ok((await client.order.status({ order_token: "unknown", order_number: number })).isFail());
  },
  "sign in and refresh the tokens": async () => {
    const { refresh_token } = await signIn(email);
    const tokens = body(await client.authentication.refreshToken({ refresh_token }));
    assert.equal(tokens.token_type, "Bearer");
    assert.notEqual(tokens.refresh_token, refresh_token);
    assert.ok(tokens.created_at + tokens.expires_in > Date.now() / 1000);
    bearer_token = tokens.access_token;
  },
  "read and update the account": async () => {
    const before = body(await client.account.accountInfo({ bearer_token })).data.attributes;
    assert.equal(before.email, email);
    const user = { email, first_name: "Ada", last_name: "Lovelace" };
    const after = body(await client.account.update({ bearer_token, user })).data.attributes;
    assert.deepEqual([after.first_name, after.last_name], ["Ada", "Lovelace"]);
  },
  "create and list addresses": async () => {
    const { data } = body(await client.account.createAddress({ bearer_token, address }));
    assert.equal(data.attributes.city, "Springfield");
    const changed = body(await client.account.updateAddress({ bearer_token, id: data.id, address: { city: "Shelbyville" } }));
    const addresses = body(await client.account.addressesList({ bearer_token })).data;
    assert.deepEqual(addresses.map(({ attributes }) => attributes.city), [changed.data.attributes.city]);
  },
  "associate a guest cart": async () => {
    const guest_order_token = await fillGuestCart();
    const cart = body(await client.cart.associateGuestCart({ bearer_token, guest_order_token, include: "user" }));
    assert.deepEqual([cart.data.attributes.email, cart.data.attributes.item_count], [email, 1]);
  },
  "buy as the user and list the orders": async () => {
    const payment_method_id = (await findCardMethod({ bearer_token })).id;
    const order = { bill_address_attributes: address, ship_address_attributes: address, payments_attributes: [{ payment_method_id, source_attributes: card }] };
    body(await client.checkout.orderUpdate({ bearer_token, order }));
    const bought = body(await client.checkout.complete({ bearer_token })).data.attributes;
    const orders = body(await client.account.completedOrdersList({ bearer_token, include: "line_items" })).data;
    assert.ok(orders.some(({ attributes }) => attributes.number === bought.number));
    const shown = body(await client.account.completedOrder({ bearer_token, order_number: bought.number }));
    assert.equal(shown.data.attributes.state, "complete");
  },
};

runSteps(steps).then(() => console.log(number));
