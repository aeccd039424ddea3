// The user-data of a machine that MAAS deploys: MIME with one shell script for each part, the site's first. cloud-init runs them in the order
// of their names. There is no cloud-config in it: its lists would replace those that MAAS sends for its own services.

import type { FirstBoot, TargetFile } from '../../render/installers/first-boot.ts';

/** nginx of MAAS takes 10 MB, in base64. */
export const MOST_USER_DATA = 7_000_000;

const BOUNDARY = '==coldiron-first-boot==';
const LINE = 76;

export const composeUserData = ({ site, node }: FirstBoot): string =>
  [
    `Content-Type: multipart/mixed; boundary="${BOUNDARY}"`,
    'MIME-Version: 1.0',
    '',
    ...[...(site === null ? [] : [site]), ...node].flatMap(part),
    `--${BOUNDARY}--`,
    '',
  ].join('\n');

/** In base64, in which the boundary cannot occur. */
const part = ({ path, text }: TargetFile): string[] => [
  `--${BOUNDARY}`,
  'Content-Type: text/x-shellscript; charset="utf-8"',
  'MIME-Version: 1.0',
  'Content-Transfer-Encoding: base64',
  `Content-Disposition: attachment; filename="${path.slice(path.lastIndexOf('/') + 1)}"`,
  '',
  ...(Buffer.from(text)
    .toString('base64')
    .match(new RegExp(`.{1,${LINE}}`, 'g')) ?? []),
];
