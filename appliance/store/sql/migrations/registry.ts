import { firstTables } from './0001-first-tables.ts';
import { bmcTables } from './0002-bmcs.ts';
import { enrollmentTables } from './0003-enrollment.ts';
import { sessionTables } from './0004-sessions.ts';
import { renderingTables } from './0005-renderings.ts';
import { taskTables } from './0006-tasks.ts';
import { sessionNonces } from './0007-session-nonces.ts';
import { persistentBootOverrides } from './0008-persistent-boot-overrides.ts';
import { commandTable } from './0009-commands.ts';
import { requestTable } from './0010-requests.ts';
import { hardwareIdentity } from './0011-hardware-identity.ts';
import { sessionMedia } from './0012-session-media.ts';
import type { Migration } from './migration.ts';

/** In order, without gaps. A new migration is one more line. */
export const MIGRATIONS: readonly Migration[] = [
  firstTables,
  bmcTables,
  enrollmentTables,
  sessionTables,
  renderingTables,
  taskTables,
  sessionNonces,
  persistentBootOverrides,
  commandTable,
  requestTable,
  hardwareIdentity,
  sessionMedia,
];
