"""What commands need for egress: proxy variables, and where the certificate of a worker that adds credentials is trusted."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shared.shapes import Environment

_DIRECTORY = '/run/longshore-egress'
_BUNDLES = ('/etc/ssl/certs/ca-certificates.crt', '/etc/pki/tls/certs/ca-bundle.crt', '/etc/ssl/cert.pem')
_PRELOAD = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'guest/egress_preload.cjs')
_BUNDLE_VARIABLES = (b'SSL_CERT_FILE', b'REQUESTS_CA_BUNDLE', b'CURL_CA_BUNDLE', b'GIT_SSL_CAINFO', b'PIP_CERT')
_LOCAL = b'localhost,127.0.0.1,::1'


def prepare(port: int, certificate: str | None) -> Environment:
    """Returns the variables. `certificate` is a PEM, or None when no credentials are added."""
    proxy = b'http://127.0.0.1:%d' % port
    env = dict.fromkeys((b'HTTP_PROXY', b'HTTPS_PROXY', b'http_proxy', b'https_proxy', b'npm_config_proxy', b'npm_config_https_proxy'), proxy)
    env.update({b'NO_PROXY': _LOCAL, b'no_proxy': _LOCAL, b'npm_config_noproxy': _LOCAL})
    # Node before 24 ignores proxy variables by default.
    env.update({b'NODE_USE_ENV_PROXY': b'1', b'NODE_OPTIONS': b'--require=' + os.fsencode(_PRELOAD)})
    if certificate:
        own, bundle = _trust(certificate)
        env[b'NODE_EXTRA_CA_CERTS'] = own
        env.update(dict.fromkeys(_BUNDLE_VARIABLES, bundle))
    return env


def _trust(certificate: str) -> tuple[bytes, bytes]:
    """The certificates of earlier workers stay trusted: their connections may still be open."""
    os.makedirs(_DIRECTORY, mode=0o755, exist_ok=True)
    own, bundle = f'{_DIRECTORY}/worker.pem', f'{_DIRECTORY}/all.pem'
    known = _read(own)
    text = certificate.strip() + '\n'
    if text not in known:
        known += text
        _replace(own, known)
        system = next((found for found in map(_read, _BUNDLES) if found), '')
        _replace(bundle, system.rstrip('\n') + '\n' + known)
    return os.fsencode(own), os.fsencode(bundle)


def _read(path: str) -> str:
    try:
        with open(path, encoding='utf-8', errors='replace') as file:
            return file.read()
    except OSError:
        return ''


def _replace(path: str, text: str) -> None:
    with open(path + '.new', 'w', encoding='utf-8') as file:
        os.fchmod(file.fileno(), 0o644)
        file.write(text)
    os.rename(path + '.new', path)
