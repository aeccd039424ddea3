// The architecture that a boot client reports in DHCP options 93 and 60. Nothing here rejects a packet: invalid values
// are reported as oddities, because a machine with sloppy firmware still has to boot.

import { readArchitectures } from '../codecs/dhcp4/client-options.ts';
import { CLIENT_ARCHITECTURES, type ClientArchitecture } from '../domain/architecture.ts';
import { shown } from '../domain/parsed.ts';

interface ReportedArchitecture {
  readonly architecture: ClientArchitecture | null;
  readonly oddities: readonly string[];
}

/** Option 93 (RFC 4578 §2.1) is a list: the first known code counts. Without it, option 60 decides. */
export function reportedArchitecture(option93: Uint8Array | undefined, vendorClass: string): ReportedArchitecture {
  const byVendorClass = architectureOfVendorClass(vendorClass);
  if (option93 === undefined) return { architecture: byVendorClass, oddities: [] };
  const codes = readArchitectures(option93);
  if (!codes.ok) return { architecture: byVendorClass, oddities: [`option 93: ${codes.reason}`] };

  const oddities: string[] = [];
  const unknown: number[] = [];
  let first: ClientArchitecture | null = null;
  for (const code of codes.value) {
    const known = CLIENT_ARCHITECTURES.get(code);
    if (known === undefined) unknown.push(code);
    else first ??= known;
  }
  if (unknown.length > 0) oddities.push(`option 93 has codes that IANA does not list: ${shown(unknown.join(', '))}`);
  if (first && byVendorClass && first !== byVendorClass) {
    oddities.push(`option 60 says architecture ${byVendorClass.code}, option 93 says ${first.code}`);
  }
  return { architecture: first ?? byVendorClass, oddities };
}

/** PXEClient:Arch:00007:UNDI:003000, five decimal digits. */
function architectureOfVendorClass(vendorClass: string): ClientArchitecture | null {
  const match = /^(?:PXE|HTTP)Client:Arch:(\d{5})/.exec(vendorClass);
  return match ? (CLIENT_ARCHITECTURES.get(Number(match[1])) ?? null) : null;
}
