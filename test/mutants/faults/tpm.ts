// Faults in the checks of what a TPM says: each would let a machine pass for another one.

import type { Mutant } from '../mutant.ts';

const KEYS = ['test/codecs/tpm/tpm-keys.test.ts'];
const QUOTE = ['test/codecs/tpm/quote.test.ts'];
const CERTIFICATE = ['test/codecs/tpm/ek-certificate.test.ts'];

export const TPM_FAULTS: readonly Mutant[] = [
  {
    name: 'tpm-public-trailing-bytes',
    file: 'appliance/codecs/tpm/tpm-public.ts',
    source: `  reader.end();\n  return {`,
    fault: `  return {`,
    tests: ['test/codecs/tpm/tpm-public.test.ts'],
    why: 'Two readers of the same bytes see two keys.',
  },
  {
    name: 'tpm-ak-not-restricted',
    file: 'appliance/codecs/tpm/tpm-keys.ts',
    source: `['fixedTPM', 'fixedParent', 'sensitiveDataOrigin', 'restricted']`,
    fault: `['fixedTPM', 'fixedParent', 'sensitiveDataOrigin']`,
    tests: KEYS,
    why: 'A key that signs anything can sign a quote that no TPM made.',
  },
  {
    name: 'tpm-ak-leaves-tpm',
    file: 'appliance/codecs/tpm/tpm-keys.ts',
    source: `['fixedTPM', 'fixedParent', 'sensitiveDataOrigin', 'restricted']`,
    fault: `['fixedParent', 'sensitiveDataOrigin', 'restricted']`,
    tests: KEYS,
    why: 'A key that can be copied to another TPM proves nothing about this one.',
  },
  {
    name: 'tpm-credential-without-name',
    file: 'appliance/codecs/tpm/make-credential.ts',
    source: `.update(encrypted).update(akName).digest()`,
    fault: `.update(encrypted).digest()`,
    tests: ['test/codecs/tpm/make-credential.test.ts'],
    why: 'The credential is not bound to the attestation key.',
  },
  {
    name: 'tpm-quote-replayed',
    file: 'appliance/codecs/tpm/quote.ts',
    source: `if (!isSame(extraData, nonce))`,
    fault: `if (extraData.length !== nonce.length)`,
    tests: QUOTE,
    why: 'An old quote is accepted again.',
  },
  {
    name: 'tpm-quote-unsigned',
    file: 'appliance/codecs/tpm/quote.ts',
    source: `if (!isSignedBy(ak, message, signature)) return`,
    fault: `if (signature.length === 0) return`,
    tests: QUOTE,
    why: 'Anybody can write a quote.',
  },
  {
    name: 'tpm-quote-fewer-pcrs',
    file: 'appliance/codecs/tpm/quote.ts',
    source: `if (first !== 0xff ||`,
    fault: `if (first === 0 ||`,
    tests: QUOTE,
    why: 'A quote about some PCRs passes for one about all of them.',
  },
  {
    name: 'tpm-vendor-by-name',
    file: 'appliance/codecs/tpm/vendor-chain.ts',
    source: `subject.checkIssued(issuer) && subject.verify(issuer.publicKey)`,
    fault: `subject.checkIssued(issuer)`,
    tests: CERTIFICATE,
    why: 'A certificate that only names a maker passes for one that the maker signed.',
  },
  {
    name: 'tpm-vendor-any-certificate',
    file: 'appliance/codecs/tpm/vendor-chain.ts',
    source: `if (!certificate.ca) return`,
    fault: `if (certificate.subject === '') return`,
    tests: CERTIFICATE,
    why: 'A server certificate in the folder can issue EK certificates.',
  },
  {
    name: 'sealed-file-unauthenticated',
    file: 'appliance/provisioning/sessions/sealed-file.ts',
    source: `.update(data).digest('hex')`,
    fault: `.digest('hex')`,
    tests: ['test/provisioning/sessions/sealed-file.test.ts'],
    why: 'A sealed file can be changed on its way.',
  },
];
