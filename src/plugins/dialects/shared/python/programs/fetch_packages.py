"""Installs packages from wheels for another Python than the one that runs this. Arguments: directory, version of that Python (3.11), its machine (x86_64),
its C library (2.36), then the requirements. The index is that of pip's own configuration. No code of a package runs."""

from __future__ import annotations

import sys


def main(target: str, version: str, machine: str, libc: str, requirements: list[str]) -> int:
    try:
        from pip._internal.cli.main import main as pip
        from pip._vendor.packaging import markers
    except ImportError:
        print('ERROR: this Python has no pip', file=sys.stderr)
        return 1
    # Conditions such as `python_version < "3.12"` are about the Python that will run the packages; pip asks the one that runs pip.
    own = markers.default_environment()
    theirs = {'python_version': version, 'python_full_version': f'{version}.0', 'implementation_version': f'{version}.0', 'platform_machine': machine}
    markers.default_environment = lambda: {**own, 'sys_platform': 'linux', 'platform_system': 'Linux', 'os_name': 'posix', **theirs}
    if not markers.Marker(f'python_version == "{version}"').evaluate():
        print(f'ERROR: this pip cannot choose packages for Python {version}; use another version of pip', file=sys.stderr)
        return 1
    major, minor = (int(part) for part in libc.split('.'))
    platforms = [f'manylinux_{major}_{each}_{machine}' for each in range(minor, 4, -1)]
    platforms += [f'{name}_{machine}' for name in ('manylinux2014', 'manylinux2010', 'manylinux1', 'linux')]
    tag = 'cp' + version.replace('.', '')
    options = ['--target', target, '--only-binary', ':all:', '--no-compile', '--retries', '1', '--timeout', '30', '--progress-bar', 'off']
    options += ['--python-version', version, '--implementation', 'cp', '--abi', tag, '--abi', 'abi3', '--abi', 'none']
    for platform in platforms:
        options += ['--platform', platform]
    return int(pip(['install', *options, '--', *requirements]))


sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4], sys.argv[5:]))
