"""The plugin object that plugins make and mount their functions on."""

from __future__ import annotations

import enum
import importlib
import re
from pathlib import Path
from typing import Any, Callable

from longshore_nekro.command_types import Command, CommandGroup
from longshore_nekro.refused import NotSupported, refuse
from longshore_nekro.store import PluginStore

_NAME = re.compile(r'[A-Za-z_][A-Za-z0-9_]*')
Function = Callable[..., Any]
# What the plugin may mount in addition to its methods, and Longshore does not call.
_INERT = {
    'mount_router': 'ROUTER',
    'mount_on_user_message': 'ON_USER_MESSAGE',
    'on_user_message_method': 'ON_USER_MESSAGE',
    'mount_on_system_message': 'ON_SYSTEM_MESSAGE',
    'mount_on_channel_reset': 'ON_CHANNEL_RESET',
    'mount_async_task': 'ASYNC_TASK',
    'on_enabled': 'ON_ENABLED',
    'on_disabled': 'ON_DISABLED',
}


class SandboxMethodType(str, enum.Enum):
    AGENT = 'agent'
    TOOL = 'tool'
    BEHAVIOR = 'behavior'
    MULTIMODAL_AGENT = 'multimodal_agent'


class SandboxMethod:
    def __init__(self, method_type: SandboxMethodType, name: str, description: str, func: Function) -> None:
        self.method_type = SandboxMethodType(method_type)
        self.name = name
        self.description = description
        self.func = func


class WebhookMethod:
    def __init__(self, name: str, description: str, func: Function) -> None:
        self.name = name
        self.description = description
        self.func = func


class Environment:
    """What this process gives to the plugins that its code makes."""

    def __init__(self, code: Path, home: Path, config: dict[str, Any]) -> None:
        self.code = code
        self.home = home
        self.config = config
        self.made: list[NekroPlugin] = []
        # Functions that its code mounts and that Longshore does not call.
        self.others: list[dict[str, str]] = []


environment = Environment(Path('.'), Path('.'), {})


class NekroPlugin:
    def __init__(
        self,
        name: str,
        module_name: str,
        description: str = '',
        version: str = '0.0.0',
        author: str = 'unknown',
        url: str = '',
        **options: Any,
    ) -> None:
        for field, value in (('module_name', module_name), ('author', author)):
            if not _NAME.fullmatch(value):
                raise ValueError(f'{field} {value!r} is not usable; letters, digits and _ are, and no digit comes first')
        self.name = name
        self.module_name = module_name
        self.description = description
        self.version = version
        self.author = author
        self.url = url
        self.key = f'{author}.{module_name}'
        self.sleep_brief: str = options.get('sleep_brief') or ''
        self.allow_sleep: bool = options.get('allow_sleep') is not False
        self.support_adapter: list[str] = options.get('support_adapter') or []
        self.is_enabled = True
        self.sandbox_methods: list[SandboxMethod] = []
        self.commands: list[Command] = []
        self.webhook_methods: dict[str, WebhookMethod] = {}
        self.init_method: Function | None = None
        self.cleanup_method: Function | None = None
        self.collect_method: Function | None = None
        self.prompt_method: Function | None = None
        self.config_model: Any = None
        self.store = PluginStore(environment.home / 'data' / 'store.sqlite3')
        self._config: Any = None
        environment.made.append(self)

    def __getattr__(self, name: str) -> Any:
        if name.startswith('_'):
            raise AttributeError(name)
        if name not in _INERT:
            refuse(f'plugin.{name}')
        return lambda *args, **options: Inert(environment.others, _INERT[name], args, options)

    def mount_sandbox_method(self, method_type: SandboxMethodType, name: str = '', description: str = '') -> Callable[[Function], Function]:
        def mount(func: Function) -> Function:
            self.sandbox_methods.append(SandboxMethod(method_type, name or func.__name__, description, func))
            return func

        return mount

    def mount_webhook_method(self, endpoint: str, name: str = '', description: str = '') -> Callable[[Function], Function]:
        def mount(func: Function) -> Function:
            self.webhook_methods[str(endpoint)] = WebhookMethod(name or func.__name__, description, func)
            return func

        return mount

    def mount_command(self, name: str, description: str = '', **options: Any) -> Callable[[Function], Function]:
        def mount(func: Function) -> Function:
            self.commands.append(Command(name, func, description, **options))
            return func

        return mount

    def mount_command_group(self, name: str, description: str = '', permission: Any = None, **_: Any) -> CommandGroup:
        return CommandGroup(name, self.commands, permission)

    def mount_config(self) -> Callable[[Any], Any]:
        def mount(model: Any) -> Any:
            self.config_model = model
            return model

        return mount

    def get_config(self, config_type: Any = None) -> Any:
        """The settings, as operators have set them; known before the plugin's code runs."""
        model = config_type or self.config_model
        if model is None:
            raise NotSupported('plugin.get_config: no model was mounted with mount_config')
        if self._config is None or not isinstance(self._config, model):
            self._config = model(**environment.config)
        return self._config

    def mount_init_method(self) -> Callable[[Function], Function]:
        return self._keep('init_method')

    def mount_cleanup_method(self) -> Callable[[Function], Function]:
        return self._keep('cleanup_method')

    def mount_collect_methods(self) -> Callable[[Function], Function]:
        return self._keep('collect_method')

    def mount_prompt_inject_method(self, name: str = '', description: str = '') -> Callable[[Function], Function]:
        return self._keep('prompt_method')

    def get_plugin_data_dir(self) -> Path:
        path = environment.home / 'data' / 'plugin'
        path.mkdir(parents=True, exist_ok=True)
        return path

    def get_plugin_path(self) -> Path:
        return environment.code

    def get_vector_collection_name(self, name: str = '') -> str:
        return f'{self.key}-{name}' if name else self.key

    def _keep(self, field: str) -> Callable[[Function], Function]:
        def keep(func: Function) -> Function:
            setattr(self, field, func)
            return func

        return keep


class Inert:
    """A decorator, or a group of them, whose functions are not called."""

    def __init__(self, others: list[dict[str, str]], kind: str, args: tuple[Any, ...], options: dict[str, Any]) -> None:
        self._others = others
        self._kind = kind
        self._named = str(options.get('name') or (args[0] if args and isinstance(args[0], str) else ''))

    def __call__(self, func: Any = None, *_: Any, **__: Any) -> Any:
        if not callable(func):
            return self
        self._others.append({'type': self._kind, 'name': self._named or str(getattr(func, '__name__', ''))})
        return func

    def __getattr__(self, name: str) -> Any:
        if name.startswith('__'):
            raise AttributeError(name)
        return lambda *args, **options: Inert(self._others, self._kind, args, options)


def dynamic_import_pkg(package_spec: str, import_name: str | None = None, **_: Any) -> Any:
    """Imports a package that was installed before; nothing is installed while the plugin runs."""
    name = import_name or re.split(r'[\[<>=!~; ]', package_spec, maxsplit=1)[0].replace('-', '_')
    try:
        return importlib.import_module(name)
    except ImportError as problem:
        raise ImportError(f'{name} is not installed: write the line {package_spec} into the requirements.txt of the plugin ({problem})') from problem
