"""What the role of an operator permits, and which roles an operator may give to others."""

from collections.abc import Collection
from decimal import Decimal

from shop.models.access.roles import Role
from shop.rules.access.permissions import ALL, BUILT_IN, OWNER_ID

MAX_NAME_LENGTH = 60
MAX_REFUND_LIMIT = Decimal(1_000_000_000)


def permissions_of(role: Role) -> frozenset[str]:
    """Returns the permissions of a role. Those of a built-in role are those of this version of the program."""
    if role.code is not None:
        built_in = BUILT_IN.get(role.code)
        return built_in.permissions if built_in else frozenset()
    return ALL & frozenset(role.permissions)


def is_owner(role: Role) -> bool:
    return role.id == OWNER_ID


def covers(own_role: Role, permissions: Collection[str], refund_limit: Decimal | None) -> bool:
    """Returns whether an operator has all of these permissions, and may refund as much."""
    if is_owner(own_role):
        return True
    own_permissions = permissions_of(own_role)
    if not frozenset(permissions) <= own_permissions:
        return False
    if "refunds:write" not in permissions or own_role.refund_limit is None:
        return True
    return refund_limit is not None and refund_limit <= own_role.refund_limit


def covers_role(own_role: Role, role: Role) -> bool:
    """Returns whether an operator may give this role to others, take it away and change it."""
    return covers(own_role, permissions_of(role), role.refund_limit)
