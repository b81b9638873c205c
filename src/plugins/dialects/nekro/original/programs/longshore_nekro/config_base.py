"""Models of a plugin's settings."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict


class ConfigBase(BaseModel):  # type: ignore[misc]
    model_config = ConfigDict(extra='ignore')


class ExtraField:
    """Says more of a setting. Of all this, only `is_secret` means something here."""

    def __init__(self, **fields: Any) -> None:
        self._fields = fields

    def model_dump(self, *_: Any, **__: Any) -> dict[str, Any]:
        return dict(self._fields)

    dict = model_dump


def schema_of(model: Any) -> dict[str, Any]:
    """The JSON Schema of the settings, with secrets marked as they are here."""
    schema: dict[str, Any] = model.model_json_schema()
    for part in (schema, *schema.get('$defs', {}).values()):
        for field in part.get('properties', {}).values():
            if field.pop('is_secret', False):
                field['x-secret'] = True
    return schema
