package redact

import (
	"encoding/json"
	"net/url"
	"regexp"
	"strings"
)

// inner returns the secrets within a secret. Credentials are often a document or a URL, and an error may contain only
// one value of it, such as a password. In a JSON document all values are secret, except values whose key or form
// shows that they are not. In other documents only the values of secret keys are secret. Values such as a user name
// or a host name are not returned, because errors would be useless without them.
func inner(secret string) []string {
	secret = strings.TrimSpace(secret)

	if json.Valid([]byte(secret)) {
		var document any

		d := json.NewDecoder(strings.NewReader(secret))
		d.UseNumber()

		if err := d.Decode(&document); err == nil {
			return leaves(document, hintNone, nil)
		}
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

// A hint is what the key of a value shows about it.
type hint int

const (
	hintNone     hint = iota
	hintSecret        // The value, and all values below it, are secret.
	hintHarmless      // The value itself is not secret.
)

// leaves returns the texts and numbers of a document that may be secret.
func leaves(v any, hinted hint, all []string) []string {
	switch v := v.(type) {
	case string:
		password := password(v)
		if password != "" {
			all = append(all, password)
		}

		if hinted == hintSecret || hinted == hintNone && password == "" && !harmlessValue.MatchString(v) &&
			!prose[strings.ToLower(v)] {
			all = append(all, v)
		}
	case json.Number:
		if hinted != hintHarmless && len(v) >= minSecret {
			all = append(all, v.String())
		}
	case []any:
		for _, e := range v {
			all = leaves(e, hinted, all)
		}
	case map[string]any:
		for k, e := range v {
			all = leaves(e, below(hinted, k), all)
		}
	}

	return all
}

// below returns the hint for the value of a key.
func below(hinted hint, key string) hint {
	switch {
	case hinted == hintSecret, IsSecretKey(key):
		return hintSecret
	case harmlessKey.MatchString(key):
		return hintHarmless
	default:
		return hintNone
	}
}

var (
	// harmlessKey matches keys whose values are no secrets.
	harmlessKey = regexp.MustCompile(`(?:^|[_. /-])(?i:ids?|uri|urls?|name|email|hosts?|address|addresses|endpoints?` +
		`|version|type|at|time|date|ttl` +
		`|seconds|timeout|size|count|limit|path|file|cert|certificate|ca|arn|domain|port)$` +
		`|[a-z0-9](?:Ids?|ID|URI|Uri|URL|Urls?|Name|Email|Hosts?|Address|Endpoints?|Version|Type|At|Time|Date|Seconds` +
		`|Timeout|Path|File|Domain|Port)$` +
		`|^(?i:user|username|users|login|owner|hostname|servers?|brokers|db|database|dbname|schema|bucket|queue|topic` +
		`|vhost|exchange|realm|region` +
		`|zone|location|kind|account|project|tenant|subscription|organi[sz]ation|org|team|groups?|roles?|scopes?` +
		`|audience|issuer|namespace` +
		`|cluster|context|driver|protocol|scheme|engine|method|mode|env|environment|stage|description|comment|labels?` +
		`|annotations|created` +
		`|updated|expires|expiry|algorithm|alg|cipher|format|encoding|profile|service|product|provider|source` +
		`|public[_-]?key|ssl[_-]?mode` +
		`|tls|cloud|vendor|client|app|application|component|status)$`)

	// harmlessValue matches values that are no secrets: an address, a time, a constant.
	harmlessValue = regexp.MustCompile(`^(?:[a-z][a-z0-9+.-]*://[^@]*|[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.(?:com|net|org` +
		`|io|svc|local|internal|cloud|dev)(?::\d+)?` +
		`|\d+(?:\.\d+){3}(?::\d+)?|\d{4}-\d\d-\d\dT[\d:.]+Z?|true|false|enabled|disabled|default|production|staging` +
		`|development)$`)
)

// password returns the password of a URL. If a URL has a token instead, it returns the token.
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
