// The requests of Vue Storefront's integration with Spree, with its sparse fields and includes, and what it reads of the
// answers. The integration itself is not published as a package.
const assert = require("node:assert/strict");
const { address, assertLoads, body, card, client, findCardMethod, host, related, runSteps, signIn } = require("./spree.js");

const email = process.argv[3];
const currency = "USD";
const variantFields = "sku,price,display_price,in_stock,product,images,option_values,is_master";
const cartQuery = { include: "line_items.variant.product.images,billing_address,shipping_address", currency };
let product, variant, order_token, number, bearer_token;

const find = (document, { id, type }) => related(document, type).find((record) => record.id === id) ?? assert.fail(`${type} ${id}`);

// The largest image of a line item, with the host in front.
function imageOf(cart, line) {
  const lineVariant = find(cart, line.relationships.variant.data);
  const lineProduct = find(cart, lineVariant.relationships.product.data);
  const image = find(cart, lineProduct.relationships.images.data[0]);
  return host + image.attributes.styles.at(-1).url;
}

const steps = {
  "search products": async () => {
    const include = "primary_variant,default_variant,variants.option_values,option_types,taxons,images";
    const fields = { product: "name,slug,sku,description,primary_variant,default_variant,variants,option_types,taxons", variant: variantFields };
    const filter = { taxons: undefined, option_value_ids: undefined, properties: {}, price: "20,60", name: undefined };
    const products = body(await client.products.list(undefined, { filter, fields, include, page: 1, sort: "price", per_page: 20, currency }));
    product = products.data.find(({ relationships }) => relationships.variants.data.length > 1);
    const primary = find(products, product.relationships.primary_variant.data);
    assert.equal(primary.relationships.product.data.id, product.id);
    await assertLoads(host + find(products, primary.relationships.images.data[0]).attributes.styles[0].url);
    assert.ok(products.meta.filters.option_types.length && products.meta.filters.product_properties.length);
  },
  "show a product": async () => {
    const include = "primary_variant,default_variant,variants.option_values,option_types,product_properties,taxons,taxons.parent,images";
    const fields = { product: "name,slug,sku,description,primary_variant,default_variant,variants,option_types,product_properties,taxons", variant: variantFields };
    const shown = body(await client.products.show(product.attributes.slug, undefined, { fields, include }));
    variant = find(shown, product.relationships.default_variant.data);
    const value = find(shown, variant.relationships.option_values.data[0]);
    find(shown, value.relationships.option_type.data);
    find(shown, find(shown, shown.data.relationships.taxons.data[0]).relationships.parent.data);
  },
  "build the category tree": async () => {
    const taxons = body(await client.taxons.list({ fields: { taxon: "name,permalink,children,parent,is_root" }, per_page: 500 })).data;
    const ids = new Set(taxons.map(({ id }) => id));
    for (const { attributes, relationships } of taxons) {
      assert.ok(attributes.is_root || ids.has(relationships.parent.data.id));
      assert.ok(relationships.children.data.every(({ id }) => ids.has(id)));
    }
  },
  "show a page": async () => {
    const { slug } = body(await client.pages.list()).data[0].attributes;
    const page = body(await client.pages.show({ id: slug, include: "cms_sections" }));
    assert.ok(page.data.attributes.content && Array.isArray(page.included));
  },
  "create a cart when there is none": async () => {
    const missing = await client.cart.show({ order_token: "unknown", ...cartQuery });
    assert.equal(missing.fail().serverResponse.status, 404);
    const cart = body(await client.cart.create(cartQuery));
    assert.deepEqual(cart.included, []);
    order_token = cart.data.attributes.token;
  },
  "add to the cart": async () => {
    const cart = body(await client.cart.addItem({ orderToken: order_token }, { variant_id: variant.id, quantity: 1, ...cartQuery }));
    await assertLoads(imageOf(cart, related(cart, "line_item")[0]));
  },
  "save e-mail and addresses": async () => {
    const optional = { company: undefined, address2: undefined };
    body(await client.checkout.orderUpdate({ order_token, order: { email }, currency }));
    body(await client.checkout.orderUpdate({ order_token, order: { ship_address_attributes: { ...address, ...optional } }, currency }));
    body(await client.checkout.orderUpdate({ order_token, order: { bill_address_attributes: { ...address, ...optional } }, currency }));
    const cart = body(await client.cart.show({ order_token, include: "shipping_address,billing_address" }));
    assert.equal(find(cart, cart.data.relationships.shipping_address.data).attributes.city, address.city);
  },
  "save the shipping method": async () => {
    const shipments = body(await client.checkout.shippingRates({ order_token, currency }));
    const shipment = shipments.data[0];
    const rates = shipment.relationships.shipping_rates.data.map((rate) => find(shipments, rate));
    const chosen = { id: shipment.id, selected_shipping_rate_id: rates.at(-1).id };
    const order = { shipments_attributes: [chosen] };
    const cart = body(await client.checkout.orderUpdate({ order_token, order, include: "shipments,shipments.shipping_rates", currency }));
    const selected = related(cart, "shipping_rate").filter(({ attributes }) => attributes.selected);
    assert.deepEqual(selected.map(({ id }) => id), [chosen.selected_shipping_rate_id]);
    assert.equal(body(await client.checkout.advance({ order_token })).data.attributes.state, "payment");
  },
  "save the payment with its source beside the order": async () => {
    const payment_method_id = (await findCardMethod({ order_token, currency })).id;
    const order = { payments_attributes: [{ payment_method_id }] };
    const cart = body(await client.checkout.orderUpdate({ order_token, order, currency, payment_source: { [payment_method_id]: card }, include: "payments" }));
    assert.deepEqual(related(cart, "payment").map(({ attributes }) => attributes.state), ["checkout"]);
  },
  "make the order": async () => {
    const order = body(await client.checkout.complete({ order_token })).data.attributes;
    assert.equal(order.state, "complete");
    number = order.number;
  },
  "take the guest's cart along at sign-in": async () => {
    const { token } = body(await client.cart.create(cartQuery)).data.attributes;
    body(await client.cart.addItem({ order_token: token, variant_id: variant.id, quantity: 1 }));
    bearer_token = (await signIn(email)).access_token;
    // The integration sends the token in the address, where it would be logged: that is refused.
    const url = `${host}/api/v2/storefront/cart/associate?guest_order_token=${token}`;
    const headers = { Authorization: `Bearer ${bearer_token}`, "Content-Type": "application/json" };
    assert.equal((await fetch(url, { method: "PATCH", headers, body: "{}" })).status, 404);
    body(await client.cart.associateGuestCart({ bearer_token, guest_order_token: token }));
    assert.equal(body(await client.cart.show({ bearer_token, ...cartQuery })).data.attributes.item_count, 1);
  },
  "keep a wishlist": async () => {
    const include = "wished_items,wished_items.variant,wished_items.variant.images,wished_items.variant.product";
    const { token } = body(await client.wishlists.default({ bearer_token, include })).data.attributes;
    body(await client.wishlists.addWishedItem({ bearer_token, wishlist_token: token, variant_id: variant.id, quantity: 1 }));
    const wishlist = body(await client.wishlists.default({ bearer_token, include }));
    const wished = find(wishlist, find(wishlist, wishlist.data.relationships.wished_items.data[0]).relationships.variant.data);
    assert.equal(find(wishlist, wished.relationships.product.data).attributes.name, product.attributes.name);
    await assertLoads(find(wishlist, wished.relationships.images.data[0]).attributes.original_url);
  },
};

runSteps(steps).then(() => console.log(number));
