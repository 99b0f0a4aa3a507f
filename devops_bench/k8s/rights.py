"""What the user of a connection may do, asked of the server itself.

https://kubernetes.io/docs/reference/access-authn-authz/authorization/#checking-api-access: a review
is answered and not stored, and by default every authenticated user may ask for one of itself.
"""

from __future__ import annotations

from typing import Final

from devops_bench.core.errors import ApiUnavailableError
from devops_bench.core.json import JsonObject
from devops_bench.k8s.client import ApiClient
from devops_bench.k8s.resources import ApiResource

_PATH: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


def may(client: ApiClient, resource: ApiResource, verb: str, timeout_sec: float) -> bool:
    """Return whether the user of the connection may do ``verb`` in all namespaces.

    Args:
        client: The connection.
        resource: The kind.
        verb: An API verb, e.g. ``watch``.
        timeout_sec: Seconds until the answer, > 0.

    Raises:
        ApiError: The server does not answer such questions.
        ApiUnavailableError: It does not answer, or with something else.
    """
    body: JsonObject = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {
            "resourceAttributes": {
                "group": resource.group,
                "resource": resource.resource,
                "verb": verb,
            }
        },
    }
    answer = client.request("POST", _PATH, body=body, timeout_sec=timeout_sec).get("status")
    allowed = answer.get("allowed") if isinstance(answer, dict) else None
    if not isinstance(allowed, bool):
        raise ApiUnavailableError(f"the server does not say whether {verb} {resource} is allowed")
    return allowed
