"""What does not exist here. It can be imported, named in types and extended; using it is an error that says what to do instead."""

from __future__ import annotations

from typing import Any, NoReturn

# By the beginnings of names; the longest one counts.
_INSTEAD = {
    'nekro_agent': 'it belongs to the host of Nekro Agent, which is not here',
    'nekro_agent.adapters': 'there are no chat platforms; send text, images and files with ctx',
    'nekro_agent.api.recurring_timer': 'use schedules of Longshore',
    'nekro_agent.api.timer': 'set_timer, set_temp_timer, clear_timers and get_timers are offered',
    'nekro_agent.api.user': 'ctx has the ids of the conversation and its user',
    'nekro_agent.core.config.config': 'settings of the host are not here; give the plugin a setting of its own',
    'nekro_agent.models': 'the database of Nekro Agent is not here; keep data in plugin.store or below plugin.get_plugin_data_dir()',
    'nekro_agent.services.agent': 'return what a model has to know, and the agent that called the method goes on with it',
    'nekro_agent.services.agent.creator.ContentSegment': 'the model can be asked with texts and images',
    'nekro_agent.services.agent.openai.gen_openai_chat_response with a model of its own': (
        'it asks the model of the agent, by the group "default"; for another, use the package openai, with a permission for the host'
    ),
    'nekro_agent.services.kb': 'there are no knowledge bases; keep data below plugin.get_plugin_data_dir()',
    'nekro_agent.services.memory': 'use the memory of agents in Longshore',
    'nekro_agent.services.plugin.task': 'start a task with asyncio.create_task; it may send to conversations',
    'nekro_agent.services.timer': 'use nekro_agent.api.timer; for something that repeats, schedules of Longshore',
    'nekro_agent.services.workspace': 'there are no workspaces; agents have a sandbox for each conversation',
    'nonebot': 'there is no bot of NoneBot; send text, images and files with ctx',
    'plugin': 'it belongs to the host of Nekro Agent, which is not here',
    'ctx': 'it belongs to the host of Nekro Agent, which is not here',
    'qdrant_client': 'there is no Qdrant; keep data below plugin.get_plugin_data_dir()',
}


class NotSupported(NotImplementedError, AttributeError):
    """An AttributeError too, so that `getattr` with a default and `hasattr` give the answer that is true here."""


def instead_of(name: str) -> str:
    parts = name.split('.')
    while parts[:-1] and '.'.join(parts) not in _INSTEAD:
        parts.pop()
    return _INSTEAD.get('.'.join(parts), _INSTEAD['nekro_agent'])


def refuse(name: str) -> NoReturn:
    raise NotSupported(f'{name} is not supported in Longshore: {instead_of(name)}')


class _Refusing(type):
    """The type of names that do not exist here. They are classes, because plugins also extend, catch and check for them."""

    _name: str

    def __call__(cls, *args: Any, **options: Any) -> Any:
        refuse(cls._name)

    def __getattr__(cls, name: str) -> Any:
        # What Python itself and libraries ask for is not there.
        if name.startswith('__'):
            raise AttributeError(name)
        return refused(f'{cls._name}.{name}')

    def __getitem__(cls, item: Any) -> Any:
        return cls

    def __or__(cls, other: Any) -> Any:
        return cls

    def __ror__(cls, other: Any) -> Any:
        return cls

    def __iter__(cls) -> Any:
        refuse(cls._name)

    def __bool__(cls) -> bool:
        return True

    def __await__(cls) -> Any:
        refuse(cls._name)

    def __instancecheck__(cls, instance: Any) -> bool:
        return False


def _any_schema(*_: Any) -> Any:
    from pydantic_core import core_schema

    return core_schema.any_schema()


def refused(name: str) -> Any:
    """Stands for what has this name in the host. A model of pydantic may have a field of it."""
    return _Refusing(name.rsplit('.', maxsplit=1)[-1], (Exception,), {'_name': name, '__get_pydantic_core_schema__': staticmethod(_any_schema)})
