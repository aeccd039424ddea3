// Self-signed certificates, as BMCs create them; a new one for each call.

import { spawnSync } from 'node:child_process';
import { needPackages } from '../../../interop/packages.ts';

needPackages(['openssl']);

export interface MockCertificate {
  readonly key: string;
  readonly certificate: string;
}

export function selfSigned(name = 'bmc'): MockCertificate {
  const { status, stdout, stderr } = spawnSync(
    'openssl',
    [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'],
      ...['-subj', `/CN=${name}`, '-addext', `subjectAltName=IP:127.0.0.1,DNS:${name}.example.net`],
      ...['-keyout', '-', '-out', '-'],
    ],
    { encoding: 'utf8' },
  );
  if (status !== 0) throw new Error(`openssl made no certificate: ${stderr}`);
  const part = (label: string): string => {
    const found = new RegExp(`-----BEGIN ${label}-----[^]+?-----END ${label}-----`).exec(stdout);
    if (!found) throw new Error(`openssl wrote no ${label}`);
    return found[0];
  };
  return { key: part('PRIVATE KEY'), certificate: part('CERTIFICATE') };
}
