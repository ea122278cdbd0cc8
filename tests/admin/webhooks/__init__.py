"""Tests of the dashboard's webhook pages."""
