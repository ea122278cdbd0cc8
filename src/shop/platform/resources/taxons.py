"""Platform resources of taxonomies, taxons and product classifications."""

from shop.actions.catalog import resources
from shop.jsonapi.resource import computed, many, one, resource
from shop.models.catalog.inputs import ClassificationInput, TaxonInput, TaxonomyInput
from shop.models.catalog.taxons import Classification
from shop.platform.collection import Collection, kinds
from shop.queries.catalog.records import TaxonWithImage

_METADATA = ("public_metadata", "private_metadata")
_STAMPS = ("created_at", "updated_at")

TAXONOMY = resource(
    "taxonomy",
    resources.RootedTaxonomy,
    attributes=["name", "position", *_STAMPS, *_METADATA],
    relations=[one("root", "taxon"), many("taxons", "taxon")],
)
TAXONOMIES = Collection(
    path="taxonomies",
    access="products",
    resource=TAXONOMY,
    actions=resources.TAXONOMY,
    writable=kinds(TaxonomyInput),
    required=("name",),
    filters=("name",),
    order="position",
)
TAXON = resource(
    "taxon",
    TaxonWithImage,
    attributes=[
        "name",
        "slug",
        "permalink",
        "pretty_name",
        "position",
        "lft",
        "rgt",
        "depth",
        "description",
        "meta_title",
        "meta_description",
        "meta_keywords",
        computed("seo_title", lambda taxon, _context: taxon.meta_title or taxon.name),
        computed("is_root", lambda taxon, _context: taxon.parent_id is None, bool),
        computed("is_child", lambda taxon, _context: taxon.parent_id is not None, bool),
        computed("is_leaf", lambda taxon, _context: taxon.rgt - taxon.lft == 1, bool),
        *_STAMPS,
        *_METADATA,
    ],
    relations=[
        one("parent", "taxon"),
        one("taxonomy", "taxonomy"),
        many("children", "taxon"),
        many("products", "product"),
        one("image", "image"),
    ],
)
TAXONS = Collection(
    path="taxons",
    access="products",
    resource=TAXON,
    actions=resources.TAXON,
    writable=kinds(TaxonInput),
    required=("name",),
    create_only=("taxonomy_id",),
    filters=("name", "permalink", "depth", "taxonomy_id", "parent_id"),
    sorts=("lft", "name", "permalink"),
    alone=("products",),
)
CLASSIFICATION = resource(
    "classification",
    Classification,
    attributes=["position", *_STAMPS],
    relations=[one("product", "product"), one("taxon", "taxon")],
)
CLASSIFICATIONS = Collection(
    path="classifications",
    access="products",
    resource=CLASSIFICATION,
    actions=resources.CLASSIFICATION,
    writable=kinds(ClassificationInput),
    required=("product_id", "taxon_id"),
    create_only=("product_id", "taxon_id"),
    filters=("product_id", "taxon_id", "position"),
)
