"""Applications and operators as the Platform API and the event log read them."""

from shop.models.access.applications import Application, applications
from shop.models.access.operators import Operator, operators
from shop.queries.records import Records

APPLICATIONS = Records(table=applications, row=Application)
OPERATORS = Records(table=operators, row=Operator)
