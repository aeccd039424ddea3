// A certificate that the node API was not signed with.

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

export function newCertificateFile(folder: string): string {
  const [key, file] = [join(folder, 'other-key.pem'), join(folder, 'other.pem')];
  const args = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '30', '-subj', '/CN=other'];
  execFileSync('openssl', ['req', '-x509', ...args, '-keyout', key, '-out', file], { stdio: 'pipe' });
  return file;
}
