"""Applications, operators and roles as the Platform API and the event log read them."""

from shop.models.access.applications import Application, applications
from shop.models.access.operators import Operator, operators
from shop.models.access.roles import Role, roles
from shop.queries.records import Records

APPLICATIONS = Records(table=applications, row=Application)
OPERATORS = Records(table=operators, row=Operator)
ROLES = Records(table=roles, row=Role)
