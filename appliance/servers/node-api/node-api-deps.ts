// Dependencies of the node API.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AppEdge } from '../../api/base-app.ts';
import type { Instant } from '../../domain/instant.ts';
import type { EnrollmentService } from '../../identity/enrollment-service.ts';
import type { Store } from '../../store/store.ts';
import type { Terminals } from '../../terminals/terminals.ts';
import type { NodeContacts } from './node-contacts.ts';

export interface NodeApiDeps extends AppEdge {
  readonly store: Pick<Store, 'machine' | 'certificate' | 'confirmCertificate' | 'authorities'>;
  readonly enrollment: EnrollmentService;
  /** Answers the requests of service OS sessions. */
  readonly sessions: (request: IncomingMessage, response: ServerResponse, correlationId: string) => Promise<void>;
  /** Null: not opened yet. */
  readonly terminals: () => Pick<Terminals, 'takeInput' | 'takeOutput' | 'reportStatus'> | null;
  readonly now: () => Instant;
  readonly contacts: Pick<NodeContacts, 'refused' | 'clock' | 'system' | 'firstBootFailed'>;
  /** Aborted on stop: ends pending long polls. */
  readonly stopping: AbortSignal;
}
