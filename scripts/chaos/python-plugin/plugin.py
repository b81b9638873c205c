"""Leaves lines in its own sandbox, for each conversation in a file of its own."""

import asyncio
import json

from maibot_sdk import MaiBotPlugin, Tool
from maibot_sdk.types import ToolParameterInfo, ToolParamType

LABEL = ToolParameterInfo(name='label', param_type=ToolParamType.STRING, description='What is left.', required=True)


class Marks(MaiBotPlugin):
    async def on_load(self) -> None:
        pass

    async def on_unload(self) -> None:
        pass

    async def on_config_update(self, scope, config_data, version) -> None:
        pass

    @Tool('mark', description='Leaves a line.', parameters=[LABEL])
    async def handle_mark(self, label: str, stream_id: str = '', **kwargs):
        """Takes effect in the middle of its time."""
        await asyncio.sleep(0.3)
        with open(self.ctx.paths.data_dir / stream_id, 'a') as log:
            log.write(f'{label}\n')
        await asyncio.sleep(0.3)
        return True, f'marked {label}'

    @Tool('show', description='Shows the lines.', parameters=[])
    async def handle_show(self, stream_id: str = '', **kwargs):
        """As a command that prints the file."""
        return True, json.dumps({'exitCode': 0, 'stdout': (self.ctx.paths.data_dir / stream_id).read_text()})


def create_plugin():
    return Marks()
