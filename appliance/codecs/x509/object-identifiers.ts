// The object identifiers of certificates and certification requests, by the section that defines them.

export const OID = {
  // RFC 5280 §4.1.2.4, X.520
  commonName: '2.5.4.3',
  organization: '2.5.4.10',
  // RFC 5280 §4.2.1
  subjectKeyIdentifier: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAlternativeName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyIdentifier: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
  // RFC 5280 §4.2.1.12
  serverAuthentication: '1.3.6.1.5.5.7.3.1',
  clientAuthentication: '1.3.6.1.5.5.7.3.2',
  // RFC 2985 §5.4.2
  extensionRequest: '1.2.840.113549.1.9.14',
  // RFC 5758 §3.2
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  ecdsaWithSha384: '1.2.840.10045.4.3.3',
  ecdsaWithSha512: '1.2.840.10045.4.3.4',
  // RFC 3279 §2.3.1, RFC 4055 §4.1
  rsa: '1.2.840.113549.1.1.1',
  rsaOaep: '1.2.840.113549.1.1.7',
  // RFC 4055 §5
  rsaWithSha256: '1.2.840.113549.1.1.11',
  rsaWithSha384: '1.2.840.113549.1.1.12',
  rsaWithSha512: '1.2.840.113549.1.1.13',
  // RFC 8410 §3
  ed25519: '1.3.101.112',
} as const;
