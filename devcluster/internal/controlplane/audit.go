package controlplane

import (
	"fmt"
	"os"
)

// auditPolicy asks for one line per request, when it is answered: who, what and
// the answer's code. Bodies, which may hold secrets, are left out.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
- level: Metadata
  omitManagedFields: true
`

// auditFlags writes the policy and returns the flags that it is used by.
func auditFlags(o Options) ([]string, error) {
	if o.AuditPolicy == "" {
		return nil, nil
	}
	if err := os.WriteFile(o.AuditPolicy, []byte(auditPolicy), 0o600); err != nil {
		return nil, fmt.Errorf("cannot write the audit policy: %w", err)
	}
	return []string{
		"--audit-policy-file=" + o.AuditPolicy,
		"--audit-log-path=" + o.AuditLog,
		"--audit-log-maxsize=100",
		"--audit-log-maxbackup=1",
	}, nil
}
