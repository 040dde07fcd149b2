package redact

import (
	"encoding/json"
	"net/url"
	"strings"
)

// inner returns the secrets within a secret. Credentials often come as a document
// or as a URL, and what comes back is a single value out of it: the password of
// an object, of a line or of a URL. What is no secret in there, such as the name
// of a user or a host, is not returned: errors would say nothing without it.
func inner(secret string) []string {
	secret = strings.TrimSpace(secret)

	var document any
	if err := json.Unmarshal([]byte(secret), &document); err == nil {
		return leaves(document, false, nil)
	}

	if password := password(secret); password != "" && !strings.ContainsAny(secret, "\n") {
		return []string{password}
	}

	var all []string

	for line := range strings.Lines(secret) {
		i := strings.IndexAny(line, "=:")
		if i < 0 {
			continue
		}

		if IsSecretKey(strings.Trim(line[:i], " \t\"'")) {
			all = append(all, strings.Trim(line[i+1:], " \t\r\n,;\"'"))
		}
	}

	return all
}

// leaves returns the texts below telling keys.
func leaves(v any, telling bool, all []string) []string {
	switch v := v.(type) {
	case string:
		if password := password(v); password != "" {
			all = append(all, password)
		}

		if telling {
			all = append(all, v)
		}
	case []any:
		for _, e := range v {
			all = leaves(e, telling, all)
		}
	case map[string]any:
		for k, e := range v {
			all = leaves(e, telling || IsSecretKey(k), all)
		}
	}

	return all
}

// password returns the password of a URL, or the token that stands in its place.
func password(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.User == nil {
		return ""
	}

	if p, ok := u.User.Password(); ok {
		return p
	}

	return u.User.Username()
}
