// What the node API needs from the rest of the appliance.

import type { AppEdge } from '../../api/base-app.ts';
import type { Instant } from '../../domain/instant.ts';
import type { EnrollmentService } from '../../identity/enrollment-service.ts';
import type { Store } from '../../store/store.ts';

export interface NodeApiDeps extends AppEdge {
  readonly store: Pick<Store, 'machine' | 'certificate' | 'confirmCertificate' | 'authorities'>;
  readonly enrollment: EnrollmentService;
  readonly now: () => Instant;
  /** When it fires, nobody is kept waiting any longer. */
  readonly stopping: AbortSignal;
}
