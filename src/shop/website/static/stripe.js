// Stripe's form on the payment page, and its confirmation dialog. Card data goes to Stripe only; the shop receives the
// id of a payment method.

function showError(form, message) {
  form.querySelector("[data-stripe-error]").textContent = message || "";
}

function openPaymentForm(form) {
  const stripe = window.Stripe(form.dataset.key);
  const elements = stripe.elements({
    mode: "payment",
    amount: Math.max(1, Number(form.dataset.amount)),
    currency: form.dataset.currency,
    paymentMethodTypes: ["card"],
    paymentMethodCreation: "manual",
  });
  elements.create("payment").mount(form.querySelector("[data-stripe-element]"));
  const choice = form.querySelector("[data-stripe-method]");
  const reference = form.querySelector("[name=gateway_payment_profile_id]");
  let isSending = false;
  form.addEventListener("submit", async (event) => {
    if (!choice.checked || reference.value) return;
    event.preventDefault();
    if (isSending) return;
    isSending = true;
    showError(form, "");
    const checked = await elements.submit();
    const result = checked.error ? checked : await stripe.createPaymentMethod({ elements });
    isSending = false;
    if (result.error) {
      showError(form, result.error.message);
      return;
    }
    reference.value = result.paymentMethod.id;
    form.submit();
  });
}

async function confirmPayment(form) {
  const stripe = window.Stripe(form.dataset.key);
  // The shop asks Stripe for the outcome, whatever the dialog returns.
  const result = await stripe.handleNextAction({ clientSecret: form.dataset.secret });
  if (result.error) showError(form, result.error.message);
  form.submit();
}

function start() {
  const payment = document.querySelector("[data-stripe-form]");
  const confirmation = document.querySelector("[data-stripe-confirm]");
  const form = payment || confirmation;
  if (!form) return;
  if (!window.Stripe) {
    showError(form, "The card form could not be loaded. Reload the page, or choose another way to pay.");
    return;
  }
  if (payment) openPaymentForm(payment);
  else confirmPayment(confirmation);
}

// Deferred scripts and modules run in the order of the document, so that Stripe's library is there if it could be loaded.
start();
