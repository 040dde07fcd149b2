package sim

import (
	"encoding/base64"
	"encoding/hex"
	"slices"
)

// Canaries are secret texts. There is one for each way in which a provider gets a secret. The provider must not emit
// any of them.
const (
	canary = "canary-of-errors-3f1c9e" // in the texts of errors, where it looks like a password
	// what clients work with; in the texts of errors, where it looks like a word
	canaryCredential = "canary-of-credentials-7b20d4"
	canaryDetail     = "canary-of-details-58ce03" // a connection detail
	canaryField      = "canary-of-fields-91d2e6"  // a field of the spec that is a secret by its name
)

// forms are the forms in which a canary may be emitted: plain, in base64 and in hexadecimal. All canaries have the same
// prefix.
var forms = []string{"canary-of-", base64.RawStdEncoding.EncodeToString([]byte("canary-of")),
	hex.EncodeToString([]byte("canary-of-"))}

// addSecrets adds texts to the secrets.
func (w *World) addSecrets(secrets ...string) {
	w.secrets.forms = append(slices.Clone(w.secrets.forms), secrets...)
	w.secrets.shortest = len(slices.MinFunc(w.secrets.forms, func(a, b string) int { return len(a) - len(b) }))
}

// secretPath returns the path of a secret in a JSON value, or nothing.
func (w *World) secretPath(value any, path string) string {
	if !w.containsSecret(value) {
		return ""
	}
	switch v := value.(type) {
	case string:
		if w.isSecret(v) {
			return path
		}
	case []any:
		for _, item := range v {
			if at := w.secretPath(item, path+"[]"); at != "" {
				return at
			}
		}
	case map[string]any:
		for key, item := range v {
			if at := w.secretPath(item, path+"."+key); at != "" {
				return at
			}
		}
	}

	return ""
}

// containsSecret returns whether a JSON value contains a secret.
func (w *World) containsSecret(value any) bool {
	switch v := value.(type) {
	case string:
		return w.isSecret(v)
	case []any:
		return slices.ContainsFunc(v, w.containsSecret)
	case map[string]any:
		for _, item := range v {
			if w.containsSecret(item) {
				return true
			}
		}
	}

	return false
}

// leakyError returns the error text of a careless external system. The text has all secrets that the reconciler can
// know and redact.
func (o Operation) leakyError(p *process) string {
	text := "password=" + canary + `, request {"accessToken":"` + canaryField + `"}`
	if !o.External || p.world.system == nil { // other clients do not use this credential
		return text
	}
	if o.Name != "Connect" {
		text += ", by " + canaryCredential
	}
	if p.inPass.details {
		text += ", of " + canaryDetail
	}

	return text
}

// shortestForm is the length of the shortest form.
const shortestForm = 10
