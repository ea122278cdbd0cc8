"""The routes of the cart, the checkout, and the status and payment pages of an order."""

from shop.website.checkout import address, cart, delivery, order_payment, orders, payment, review
from shop.website.checkout.progress import checkout_form
from shop.website.route_builder import PageRoute, get, post
from shop.website.visits import form, page

CHECKOUT_ROUTES: tuple[PageRoute, ...] = (
    get("/cart", page(cart.show), "Cart page"),
    post("/cart/items", checkout_form(cart.add), "Add a product to the cart"),
    post("/cart/items/{id}", checkout_form(cart.change_quantity), "Change the quantity of a line item"),
    post("/cart/items/{id}/remove", checkout_form(cart.remove), "Remove a line item"),
    post("/cart/accept", checkout_form(cart.accept_changes), "Accept current prices and quantities"),
    post("/cart/coupon", checkout_form(cart.apply_coupon), "Apply a coupon code"),
    post("/cart/coupon/remove", checkout_form(cart.remove_coupon), "Remove a coupon code"),
    get("/checkout", page(address.start), "Start of the checkout"),
    get("/checkout/address", page(address.show), "Address step of the checkout"),
    post("/checkout/address", checkout_form(address.save), "Save the addresses"),
    get("/checkout/delivery", page(delivery.show), "Delivery step of the checkout"),
    post("/checkout/delivery", checkout_form(delivery.save), "Choose the shipping rates"),
    get("/checkout/payment", page(payment.show), "Payment step of the checkout"),
    post("/checkout/payment", checkout_form(payment.save), "Choose how to pay"),
    post("/checkout/store-credit", checkout_form(payment.use_credit), "Pay with store credit"),
    post("/checkout/store-credit/remove", checkout_form(payment.remove_credit), "Do not pay with store credit"),
    get("/checkout/review", page(review.show), "Review step of the checkout"),
    post("/checkout/complete", checkout_form(review.complete), "Pay and complete the order"),
    get("/checkout/return", page(review.show_return), "Page after a payment confirmation"),
    get("/order-status/{token}", page(orders.open_link), "Link to the status of an order"),
    get("/orders/{number}", page(orders.show), "Order status page"),
    get("/order-payment/{token}", page(order_payment.open_link), "Link to the payment of an order"),
    get("/orders/{number}/payment", page(order_payment.show), "Payment page of an order"),
    post("/orders/{number}/payment", form(order_payment.pay), "Pay the amount due of an order"),
    post("/orders/{number}/reorder", form(orders.order_again), "Put the items of an order into the cart"),
)
