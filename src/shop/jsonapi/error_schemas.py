"""The schemas of error bodies."""

from shop.jsonapi.schema import Schema

ERRORS: dict[str, Schema] = {
    "ErrorBody": {
        "type": "object",
        "description": "The body of every error. Programs use `code`; the message is for people and may change.",
        "required": ["error", "code", "request_id"],
        "properties": {
            "error": {"type": "string", "description": "The error message."},
            "code": {"type": "string", "description": "A stable, machine-readable error code."},
            "request_id": {
                "type": "string",
                "description": "The value of the X-Request-Id header, which the log also contains.",
            },
            "errors": {
                "type": "object",
                "description": "With 422: the messages of each invalid field; `base` stands for the whole record.",
                "additionalProperties": {"type": "array", "items": {"type": "string"}},
            },
            "data": {
                "type": "object",
                "description": "With `not_payable`: the current cart.",
                "additionalProperties": True,
            },
            "meta": {
                "type": "object",
                "description": "With `not_payable`: `messages` lists the reasons.",
                "additionalProperties": True,
            },
            "differences": {
                "type": "array",
                "description": "With `total_changed`: the differences from the quote.",
                "items": {
                    "type": "object",
                    "required": ["code"],
                    "properties": {"code": {"type": "string"}},
                    "additionalProperties": True,
                },
            },
            "consent_token": {
                "type": "string",
                "description": "With `total_changed`: send it when you complete again, to accept the differences.",
            },
            "client_secret": {
                "type": "string",
                "description": "With `payment_needs_action`: identifies the payment at the provider. Do not expose it.",
            },
            "next_action": {
                "type": "object",
                "description": "With `payment_needs_action`: how the shopper confirms. Then complete again.",
                "required": ["type", "url"],
                "properties": {
                    "type": {
                        "type": "string",
                        "enum": ["redirect_to_url", "use_stripe_sdk"],
                        "description": "Open `url`, or pass `client_secret` to `stripe.handleNextAction`.",
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
            "error": {"type": "string", "description": "An error code of RFC 6749."},
            "error_description": {"type": "string", "description": "The error message."},
        },
    },
}
