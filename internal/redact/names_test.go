package redact

import "testing"

// TestNames has texts in pairs: the name of something, and a secret that stands alike.
func TestNames(t *testing.T) {
	cases := map[string]struct {
		reason string
		name   string
		secret string
		want   string
	}{
		"ARN": {
			reason: "AWS has the kind before the name.",
			name:   "arn:aws:secretsmanager:eu-west-1:123456789012:secret:db-Ab12Cd",
			secret: "db:secret:hunter2", want: "db:secret:[REDACTED]",
		},
		"User": {
			reason: "Kubernetes has the namespace before the name.",
			name:   "system:serviceaccount:my-token:default",
			secret: "serviceaccount:my-token:hunter2", want: "serviceaccount:my-token:[REDACTED]",
		},
		"Port": {
			reason: "A host has a port.", name: "https://vault-token:8200/v1",
			secret: "https://h/vault-token:hunter2", want: "https://h/vault-token:[REDACTED]",
		},
		"Tag": {
			reason: "An image has a tag.", name: "reg:5000/a/token:v1.2.3-rc1",
			secret: "/run/token:hunter2", want: "/run/token:[REDACTED]",
		},
		"Scope": {
			reason: "A repository has actions.", name: "repository:a/token:pull,push",
			secret: "repository:token:hunter2", want: "repository:token:[REDACTED]",
		},
		"Count": {
			reason: "Several can be counted.", name: "max_tokens=4096 secrets: 3",
			secret: "token=4096 tokens=a4096", want: "token=[REDACTED] tokens=[REDACTED]",
		},
		"Answer": {
			reason: "An answer is no secret.",
			name:   `(using password: YES) "token":null,"secret":false`,
			secret: `(using password: YESTERDAY)`, want: `(using password: [REDACTED])`,
		},
		"Empty": {
			reason: "Nothing is no secret.", name: `{"password":"","token":''}`,
			secret: `{"password":"x"}`, want: `{"password":[REDACTED]}`,
		},
		"Object": {
			reason: "A Secret that is not there has a name.",
			name:   "secret: ns/db-token not found, Secret: \"x\" already exists",
			secret: "secret: hunter2 for ns/x not found",
			want:   "secret: [REDACTED] for ns/x not found",
		},
		"Reference": {
			reason: "What says where a secret is says its name.",
			name:   `"secret":{"secretName":"x","items":[{"key":"a","path":"b"}]}`,
			secret: `"secret":{"name":"x","value":"hunter2"}`, want: `"secret":[REDACTED]`,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := String(tc.name); got != tc.name {
				t.Errorf("%s\n%q became %q", tc.reason, tc.name, got)
			}

			if got := String(tc.secret); got != tc.want {
				t.Errorf("%s\ngot %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
