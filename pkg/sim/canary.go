package sim

import (
	"encoding/base64"
	"encoding/hex"
	"slices"
)

// Canaries are secrets, one for each way in which a provider comes to know one.
// None may be seen anywhere.
const (
	canary           = "canary-of-errors-3f1c9e"      // in the texts of errors, where it looks like a password
	canaryCredential = "canary-of-credentials-7b20d4" // what clients work with; in the texts of errors, where it looks like a word
	canaryDetail     = "canary-of-details-58ce03"     // a connection detail
	canaryField      = "canary-of-fields-91d2e6"      // a field of the spec that is a secret by its name
)

// Forms in which a canary may be seen: as it is, in base64 and as hexadecimal
// numbers. All canaries begin alike.
var forms = []string{"canary-of-", base64.RawStdEncoding.EncodeToString([]byte("canary-of")), hex.EncodeToString([]byte("canary-of-"))}

// The length of the shortest of them.
const shortestForm = 10

// hides makes texts secret, of which one may be in every text that is as long.
func (w *World) hides(secrets ...string) {
	w.secrets = append(slices.Clone(w.secrets), secrets...)
	w.shortest = len(slices.MinFunc(w.secrets, func(a, b string) int { return len(a) - len(b) }))
}

// shows says whether a secret is shown in a JSON value.
func (w *World) shows(value any) bool {
	switch v := value.(type) {
	case string:
		return w.secret(v)
	case []any:
		return slices.ContainsFunc(v, w.shows)
	case map[string]any:
		for _, item := range v {
			if w.shows(item) {
				return true
			}
		}
	}

	return false
}

// shownIn returns where in a JSON value a secret is shown, or nothing.
func (w *World) shownIn(value any, path string) string {
	if !w.shows(value) {
		return ""
	}
	switch v := value.(type) {
	case string:
		if w.secret(v) {
			return path
		}
	case []any:
		for _, item := range v {
			if at := w.shownIn(item, path+"[]"); at != "" {
				return at
			}
		}
	case map[string]any:
		for key, item := range v {
			if at := w.shownIn(item, path+"."+key); at != "" {
				return at
			}
		}
	}

	return ""
}

// blab returns what a careless system says when a call of it fails: all it knows.
// What a pass cannot know to be a secret is not said in it.
func (o operation) blab(p *process) string {
	text := "password=" + canary + `, request {"accessToken":"` + canaryField + `"}`
	if !o.external || p.world.harbour == nil { // nobody knows what clients of others work with
		return text
	}
	if o.name != "Connect" {
		text += ", by " + canaryCredential
	}
	if p.details {
		text += ", of " + canaryDetail
	}

	return text
}
