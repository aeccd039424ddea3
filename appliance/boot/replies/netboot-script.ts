// The netboot.ipxe that a NixOS image is built with. `init=` is a path in that image's own Nix store, so it is read from
// here and never constructed.

import { type Parsed, parsed, shown, unparsable } from '../../domain/parsed.ts';

/** The parameters of its `kernel` line, without those that we set ourselves. */
export function readNetbootParameters(script: string): Parsed<readonly string[]> {
  const lines = script.split(/\r?\n/).map((line) => line.trim().split(/\s+/));
  if (!script.startsWith('#!ipxe')) return unparsable('not an iPXE script: #!ipxe is missing');
  const kernels = lines.filter(([command]) => command === 'kernel');
  const [kernel] = kernels;
  if (kernel === undefined || kernels.length > 1) return unparsable(`it has ${kernels.length} kernel lines, not one`);
  // kernel bzImage init=… initrd=initrd … ${cmdline}: a script that chains to this one may set the last.
  const parameters = kernel.slice(2).filter((word) => !/^\$\{cmdline\}$/.test(word) && !word.startsWith('initrd='));
  const unsafe = parameters.find((word) => /[${}\\"']|^[#|&;-]/.test(word));
  if (unsafe !== undefined) return unparsable(`a parameter of its kernel line cannot be passed on: ${shown(unsafe)}`);
  if (!parameters.some((word) => word.startsWith('init=/'))) return unparsable('its kernel line has no init=');
  return parsed(parameters);
}
