"""The accounts in the Platform API: `GET /api/v2/platform/points_accounts`."""

from loyalty.tables import PointsAccount, accounts
from shop.extension import one, platform_resource

ACCOUNTS = platform_resource(
    "points_account",
    path="points_accounts",
    access="customers",
    table=accounts,
    row=PointsAccount,
    attributes=["balance", "created_at", "updated_at"],
    relations=[one("user", "user")],
    filters=["user_id", "balance"],
)
