/** Builds the sandbox image when its inputs have changed. */
import { loadConfig } from '../src/platform/config.ts';
import { ensureSandboxImage } from '../src/setup/sandbox-image.ts';

const { LONGSHORE_SANDBOX_IMAGE: image } = loadConfig();
const outcome = await ensureSandboxImage({ image, log: (line) => console.log(line) });
console.log(`${image}: ${outcome}`);
