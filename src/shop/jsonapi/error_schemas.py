"""The schemas of error bodies."""

from shop.jsonapi.schema import Schema

ERRORS: dict[str, Schema] = {
    "ErrorBody": {
        "type": "object",
        "description": "The one body of every error. Decide by `code`; the sentence is for people and may change.",
        "required": ["error", "code", "request_id"],
        "properties": {
            "error": {"type": "string", "description": "One sentence."},
            "code": {"type": "string", "description": "A stable word to decide by."},
            "request_id": {"type": "string", "description": "As in the header X-Request-Id; it names the log line."},
            "errors": {
                "type": "object",
                "description": "With 422: every failing field with its sentences; `base` for the whole.",
                "additionalProperties": {"type": "array", "items": {"type": "string"}},
            },
            "data": {
                "type": "object",
                "description": "With `not_payable`: the cart as it is now.",
                "additionalProperties": True,
            },
            "meta": {
                "type": "object",
                "description": "With `not_payable`: `messages`, a sentence for each reason.",
                "additionalProperties": True,
            },
            "differences": {
                "type": "array",
                "description": "With `total_changed`: what differs from the quote.",
                "items": {
                    "type": "object",
                    "required": ["code"],
                    "properties": {"code": {"type": "string"}},
                    "additionalProperties": True,
                },
            },
            "consent_token": {
                "type": "string",
                "description": "With `total_changed`: send it with the next complete to agree to the differences.",
            },
            "client_secret": {
                "type": "string",
                "description": "With `payment_needs_action`: names the payment to the provider. Keep it secret.",
            },
            "next_action": {
                "type": "object",
                "description": "With `payment_needs_action`: how the shopper confirms; then complete again.",
                "required": ["type", "url"],
                "properties": {
                    "type": {
                        "type": "string",
                        "enum": ["redirect_to_url", "use_stripe_sdk"],
                        "description": "Open `url`, or hand `client_secret` to `stripe.handleNextAction`.",
                    },
                    "url": {"type": ["string", "null"], "format": "uri"},
                },
            },
        },
    },
    "OAuthErrorBody": {
        "type": "object",
        "description": "The error body of RFC 6749.",
        "required": ["error", "error_description"],
        "properties": {
            "error": {"type": "string", "description": "A word of RFC 6749 to decide by."},
            "error_description": {"type": "string", "description": "One sentence."},
        },
    },
}
