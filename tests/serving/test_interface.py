"""`/openapi.json` describes what the server does: any request that it allows, and many that it does not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.config import SchemathesisConfig
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)
from served import started

from acclimate.serving.app import INTERFACE
from acclimate.serving.application import Operation
from acclimate.serving.openapi import describe
from acclimate.serving.settings import ServerSettings

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    negative_data_rejection,
]
REFUSED = SchemathesisConfig.from_dict(
    {"checks": {"negative_data_rejection": {"expected-statuses": [400, 404, 405, 413, 415, 422]}}}
)


@pytest.fixture(scope="module")
def described(compact_folder: Path) -> Iterator[Any]:
    with started(compact_folder) as server:
        yield schemathesis.openapi.from_url(f"{server.url}/openapi.json", config=REFUSED)


MODES = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)  # what may be sent, and what may not
SENT = [(one, mode) for one in INTERFACE for mode in MODES if one.request is not None or mode is MODES[0]]


@pytest.mark.parametrize(("operation", "mode"), SENT, ids=[f"{one.path} {mode.value}" for one, mode in SENT])
def test_the_server_keeps_to_its_description(described: Any, operation: Operation, mode: GenerationMode) -> None:
    described_operation = described[operation.path][operation.methods[0].lower()]

    @given(described_operation.as_strategy(generation_mode=mode))
    @settings(max_examples=20, suppress_health_check=list(HealthCheck))
    def keeps(case: schemathesis.Case) -> None:
        case.call_and_validate(checks=CHECKS)

    keeps()


def test_the_bounds_of_the_settings_are_in_the_description() -> None:
    schemas = describe(INTERFACE, ServerSettings(max_texts=7, max_words=1234))["components"]["schemas"]
    assert schemas["EntitiesRequest"]["properties"]["texts"]["maxItems"] == 7
    assert "1,234 words" in schemas["EntitiesRequest"]["description"]
