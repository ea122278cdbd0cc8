"""Loyalty points: customers earn them with completed orders and can pay with them."""
