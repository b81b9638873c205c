"""Takes pip out of an index, as pip itself would be installed, and writes it to pip.whl in the current directory.
python3 fetch_pip.py INDEX"""

import re
import sys
from pathlib import Path
from urllib.parse import urljoin
from urllib.request import urlopen

index = sys.argv[1].rstrip('/') + '/pip/'
page = urlopen(index).read().decode()
link = re.findall('href="([^"]+[.]whl[^"]*)"', page)[-1].split('#')[0]
Path('pip.whl').write_bytes(urlopen(urljoin(index, link)).read())
