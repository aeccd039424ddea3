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
import { exportTables } from './0013-exports.ts';
import { onboardingTable } from './0014-onboardings.ts';
import { accessVersions } from './0015-access-versions.ts';
import { allocationTables } from './0016-allocations.ts';
import { webSessions } from './0017-web-sessions.ts';
import { agentLogs } from './0018-agent-logs.ts';
import { onboardingLabels } from './0019-onboarding-labels.ts';
import { proposalTable } from './0020-proposals.ts';
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
  exportTables,
  onboardingTable,
  accessVersions,
  allocationTables,
  webSessions,
  agentLogs,
  onboardingLabels,
  proposalTable,
];
