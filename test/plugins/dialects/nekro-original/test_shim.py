"""Rules of what a plugin that is written for Nekro Agent finds here, and of what it does not find."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path
from typing import Any

import pytest

from longshore_host.calls import current
from longshore_host.questions import QuestionFailed
from longshore_nekro.calling import MethodCall, forget_old_calls
from longshore_nekro.command_types import CommandPermission
from longshore_nekro.context import AgentCtx, Messages, MessageService
from longshore_nekro.methods import bound, context_of, parameters_of
from longshore_nekro.parts import CmdCtl, DBChatChannel, Logger, Magic, Settings, calculate_text_similarity, limited_text_output
from longshore_nekro.plugin import NekroPlugin, SandboxMethodType, dynamic_import_pkg, environment
from longshore_nekro.refused import NotSupported, instead_of, refused
from longshore_nekro.store import PluginStore

PNG = b'\x89PNG\r\n\x1a\n'
PNG_URL = f'data:image/png;base64,{base64.b64encode(PNG).decode()}'


@pytest.fixture
def caller(tmp_path: Path) -> Any:
    brought = tmp_path / 'brought.txt'
    brought.write_text('one')
    files = {'logs/a.txt': str(brought)}
    return {
        'chat_key': 'conv_1',
        'user_id': 'user-1',
        'agent_id': 'sailor',
        'files': files,
        'directory': '/home/user/files/call_1',
        'place': str(tmp_path / 'call'),
    }


def during(call: MethodCall | None, work: Any) -> Any:
    async def within() -> Any:
        current.set(call)
        result = work()
        return await result if asyncio.iscoroutine(result) else result

    return asyncio.run(within())


def test_what_is_sent_is_kept_in_its_order_and_large_contents_are_files(caller: Any) -> None:
    call, ctx = MethodCall(caller), AgentCtx(caller)

    async def work() -> None:
        await Messages.send_text('conv_1', 'one', ctx)
        await ctx.send_image(PNG_URL)
        await ctx.ms.send_file('conv_1', 'logs/a.txt', ctx)
        await MessageService.push_system_message('conv_1', 'two', trigger_agent=True)

    during(call, work)
    text, image, file = call.answer()['sent']
    assert text == {'type': 'text', 'text': 'one'}
    assert (image['type'], image['mediaType'], Path(image['path']).read_bytes()) == ('image', 'image/png', PNG)
    assert (file['name'], file['mediaType'], Path(file['path']).read_text()) == ('a.txt', 'text/plain', 'one')
    assert call.answer()['notes'] == [{'text': 'two', 'wake': True}]


def test_a_call_sends_nothing_to_another_conversation(caller: Any) -> None:
    call = MethodCall(caller)
    with pytest.raises(NotSupported, match=r'^send_text: the conversation "conv_2" is not the one of this call, which is "conv_1"$'):
        during(call, lambda: Messages.send_text('conv_2', 'one'))
    assert call.sent == []


def test_files_of_the_same_name_stay_apart_and_no_name_leads_out_of_the_directory(caller: Any, tmp_path: Path) -> None:
    call, ctx = MethodCall(caller), AgentCtx(caller)
    local = tmp_path / 'a.txt'
    local.write_text('two')

    async def work() -> list[str]:
        forward = ctx.fs.mixed_forward_file
        return [
            await forward(b'one', 'a.txt'),
            await forward(local),
            ctx.fs.forward_file(local, '../../a.txt'),
            await forward(PNG_URL),
            ctx.fs.forward_file(ctx.fs.get_file('logs/a.txt')),
        ]

    paths = during(call, work)
    assert paths == [f'/home/user/files/call_1/{name}' for name in ('a.txt', 'a-2.txt', 'a-3.txt', 'file.png', 'brought.txt')]
    # A later change of the file does not count.
    local.write_text('three')
    given = {file['name']: Path(file['path']).read_bytes() for file in call.answer()['files']}
    assert given == {'a.txt': b'one', 'a-2.txt': b'two', 'a-3.txt': b'two', 'file.png': PNG, 'brought.txt': b'one'}


def test_a_file_of_the_conversation_that_was_not_brought_is_refused_with_the_reason(caller: Any) -> None:
    with pytest.raises(NotSupported, match=r'^the file /home/user/b\.txt of the conversation is not here: only files whose paths are whole texts in'):
        during(MethodCall(caller), lambda: AgentCtx(caller).fs.get_file('/home/user/b.txt'))


def test_files_of_old_calls_are_removed(tmp_path: Path) -> None:
    import os

    old, new = tmp_path / 'old', tmp_path / 'new'
    old.mkdir()
    new.mkdir()
    os.utime(old, (0, 0))
    forget_old_calls(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ['new']


def test_the_store_keeps_texts_for_a_conversation_a_user_or_all(caller: Any, tmp_path: Path) -> None:
    store = PluginStore(tmp_path / 'data' / 'store.sqlite3')

    async def work() -> list[Any]:
        did: list[Any] = [
            await store.set('conv_1', '', 'a', 'one'),
            await store.set(chat_key='conv_1', store_key='a', value='two'),
            await store.set(store_key='a', value='all'),
        ]
        did += [await store.get(chat_key='conv_1', store_key='a'), await store.get(store_key='a'), await store.get(user_key='user-1', store_key='a')]
        return [*did, await store.delete(store_key='a'), await store.delete(store_key='a')]

    assert during(MethodCall(caller), work) == [0, 1, 0, 'two', 'all', None, 0, 1]
    again = PluginStore(tmp_path / 'data' / 'store.sqlite3')
    assert during(None, lambda: again.get(chat_key='conv_1', store_key='a')) == 'two'


def test_a_call_reads_nothing_of_another_conversation_or_user(caller: Any, tmp_path: Path) -> None:
    store = PluginStore(tmp_path / 'store.sqlite3')
    with pytest.raises(ValueError, match=r'^the store has no entries of another conversation \("conv_2"\) for this one; chat_key is "conv_1" here, or empty$'):
        during(MethodCall(caller), lambda: store.get(chat_key='conv_2', store_key='a'))
    with pytest.raises(ValueError, match=r'^the store has no entries of another user \("user-2"\) for this one; user_key is "user-1" here, or empty$'):
        during(MethodCall(caller), lambda: store.get(user_key='user-2', store_key='a'))
    with pytest.raises(TypeError, match=r'^the store keeps texts, and this is a dict; use json\.dumps$'):
        during(None, lambda: store.set(store_key='a', value={}))  # type: ignore[arg-type]


def test_what_does_not_exist_can_be_named_and_extended_and_is_refused_when_it_is_used() -> None:
    user: Any = refused('nekro_agent.models.db_user.DBUser')

    class Mine(user):  # type: ignore[misc]
        name: user | None = None

    for use in (Mine, user, lambda: user.filter(id=1), user.objects.all, lambda: list(user)):
        with pytest.raises(
            NotSupported, match=r'^nekro_agent\.models\.db_user\.DBUser\S* is not supported in Longshore: the database of Nekro Agent is not here; keep data in'
        ):
            use()
    assert not isinstance('text', user)


def test_getattr_with_a_default_gives_the_default_for_what_does_not_exist(caller: Any) -> None:
    settings, ctx = Settings(), AgentCtx(caller)
    assert (getattr(settings, 'SOMETHING', 7), list(settings.MODEL_GROUPS), settings.DEFAULT_PROXY) == (7, ['default'], None)
    assert (hasattr(ctx, 'db_user'), ctx.adapter_key, ctx.from_chat_key, asyncio.run(ctx.get_bound_workspace())) == (False, 'longshore', 'conv_1', None)
    with pytest.raises(NotSupported, match=r'^ctx\.adapter is not supported in Longshore: '):
        _ = ctx.adapter


@pytest.mark.parametrize(
    ('name', 'instead'),
    [
        ('nekro_agent.api.recurring_timer.create_cron_job', 'use schedules of Longshore'),
        ('nekro_agent.services.agent.openai.gen_openai_embeddings', 'return what a model has to know'),
        ('nekro_agent.services.agent.creator.ContentSegment.audio', 'the model can be asked with texts and images'),
        ('nonebot.get_bot', 'there is no bot of NoneBot'),
        ('nekro_agent.something', 'it belongs to the host of Nekro Agent'),
    ],
)
def test_the_longest_known_beginning_of_a_name_says_what_to_do_instead(name: str, instead: str) -> None:
    assert instead_of(name).startswith(instead)


def test_a_plugin_keeps_its_methods_and_notes_what_nobody_calls(tmp_path: Path) -> None:
    environment.home, environment.code = tmp_path, tmp_path / 'code'
    environment.others.clear()
    plugin = NekroPlugin(name='Sums', module_name='sums', description='Adds', version='1.0.0', author='me', url='', support_adapter=['onebot_v11'])

    @plugin.mount_sandbox_method(SandboxMethodType.TOOL, name='Add')
    async def add(_ctx: AgentCtx, first: int, second: int = 2) -> int:
        return first + second

    group: Any = plugin.mount_command_group(name='sum', description='Sums')

    @group.command(name='add', permission=CommandPermission.SUPER_USER)  # type: ignore[untyped-decorator]
    async def add_command() -> Any:
        return CmdCtl.success('3')

    @plugin.mount_on_user_message()  # type: ignore[untyped-decorator]
    async def heard() -> None: ...

    assert [(method.func.__name__, method.name) for method in plugin.sandbox_methods] == [('add', 'Add')]
    assert [(command.name, command.permission) for command in plugin.commands] == [('sum.add', CommandPermission.SUPER_USER)]
    assert environment.others == [{'type': 'ON_USER_MESSAGE', 'name': 'heard'}]
    assert (plugin.key, plugin.get_plugin_path(), plugin.get_plugin_data_dir()) == ('me.sums', tmp_path / 'code', tmp_path / 'data' / 'plugin')
    with pytest.raises(NotSupported, match=r'^plugin\.save_config is not supported in Longshore: '):
        plugin.save_config()


@pytest.mark.parametrize(('field', 'value'), [('module_name', '1st'), ('author', 'a b')])
def test_names_that_the_original_refuses_are_refused(field: str, value: str) -> None:
    with pytest.raises(ValueError, match=f'^{field} {value!r} is not usable; letters, digits and _ are, and no digit comes first$'):
        NekroPlugin(**{'name': 'Sums', 'module_name': 'sums', 'author': 'me', field: value})


async def by_type(first: int, who: AgentCtx) -> None: ...


async def by_name(first: int, _ctx: Any) -> None: ...


async def by_place(anything: Any, first: int, *others: Any, **more: Any) -> None: ...


def test_the_context_is_found_by_its_type_then_by_its_name_then_by_its_place(caller: Any) -> None:
    ctx = AgentCtx(caller)
    for method, name in ((by_type, 'who'), (by_name, '_ctx'), (by_place, 'anything')):
        assert context_of(method) == name
        assert [parameter.name for parameter in parameters_of(method)] == ['first']
        assert bound(method, ctx, {'first': 1}) == ([], {'first': 1, name: ctx})


def test_a_package_that_is_not_installed_is_named_with_the_line_to_write() -> None:
    assert dynamic_import_pkg('json>=1').loads('1') == 1
    with pytest.raises(ImportError, match=r'^no_such_pkg is not installed: write the line no-such-pkg>=1,<2 into the requirements\.txt of the plugin'):
        dynamic_import_pkg('no-such-pkg>=1,<2')


def test_small_helpers(caller: Any, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level('DEBUG'):
        Logger().success('{} of {name} {', 1, name='two')
        Logger().bind(a=1).opt(colors=True).warning('plain {}')
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [('INFO', '{} of {name} {'), ('WARNING', 'plain {}')]
    assert limited_text_output('abcdefgh', 4) == 'ab...gh'
    assert calculate_text_similarity('abc', 'abc') == 1.0
    assert [Magic(mime=True).from_buffer(content) for content in (PNG, b'%PDF-1.7', b'text')] == ['image/png', 'application/pdf', 'text/plain']
    # The model must not learn of other conversations.
    (only,) = during(MethodCall(caller), DBChatChannel.all)
    assert only.chat_key == 'conv_1'
    with pytest.raises(QuestionFailed, match=r'^there is no worker here$'):
        asyncio.run(DBChatChannel.all())
    channel = during(MethodCall(caller), lambda: DBChatChannel.get_channel(chat_key='conv_1'))
    assert (channel.chat_key, channel.chat_type.value, asyncio.run(channel.get_preset()).name) == ('conv_1', 'private', 'sailor')


def test_the_source_tells_what_it_imports_and_what_the_modules_offer(tmp_path: Path) -> None:
    pytest.importorskip('pydantic')
    from longshore_nekro.scan_source import scan

    (tmp_path / '__init__.py').write_text(
        'from nekro_agent.api import core, message\n'
        'from nekro_agent.api.plugin import NekroPlugin\n'
        'from nekro_agent.models.db_user import DBUser\n'
        'import nonebot\n'
        'def run(ctx): return ctx.fs.get_file("a")\n'
    )
    (tmp_path / 'tests').mkdir()
    (tmp_path / 'tests' / 'test_it.py').write_text('from nekro_agent.models.db_preset import DBPreset')
    found = scan(str(tmp_path))
    assert [each['name'] for each in found['absent']] == ['nekro_agent.models.db_user.DBUser', 'nonebot']
    assert found['readsFiles']
