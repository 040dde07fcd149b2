package redact

import (
	"encoding/json"
	"net/url"
	"regexp"
	"strings"
)

// inner returns the secrets within a secret. Credentials often come as a document
// or as a URL, and what comes back is a single value out of it: the password of
// an object, of a line or of a URL. What is no secret in there, such as the name
// of a user or a host, is not returned: errors would say nothing without it. In a
// document of JSON all values are secret but those whose key or form says what they
// are; in a line, which need not be one of keys and values, only those of telling keys.
func inner(secret string) []string {
	secret = strings.TrimSpace(secret)

	if json.Valid([]byte(secret)) {
		var document any

		d := json.NewDecoder(strings.NewReader(secret))
		d.UseNumber()

		if err := d.Decode(&document); err == nil {
			return leaves(document, saysNothing, nil)
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

// A saying is what the key of a value says of it.
type saying int

const (
	saysNothing  saying = iota
	saysSecret          // It and all that is below it.
	saysHarmless        // It alone.
)

// leaves returns the texts and numbers of a document that may be secret.
func leaves(v any, says saying, all []string) []string {
	switch v := v.(type) {
	case string:
		password := password(v)
		if password != "" {
			all = append(all, password)
		}

		if says == saysSecret || says == saysNothing && password == "" && !plainly.MatchString(v) &&
			!prose[strings.ToLower(v)] {
			all = append(all, v)
		}
	case json.Number:
		if says != saysHarmless && len(v) >= minSecret {
			all = append(all, v.String())
		}
	case []any:
		for _, e := range v {
			all = leaves(e, says, all)
		}
	case map[string]any:
		for k, e := range v {
			all = leaves(e, below(says, k), all)
		}
	}

	return all
}

// below returns what is said of the value of a key.
func below(says saying, key string) saying {
	switch {
	case says == saysSecret, IsSecretKey(key):
		return saysSecret
	case described.MatchString(key):
		return saysHarmless
	default:
		return saysNothing
	}
}

var (
	// described are keys that say what their value is, and that it is no secret.
	described = regexp.MustCompile(`(?:^|[_. /-])(?i:ids?|uri|urls?|name|email|hosts?|address|addresses|endpoints?` +
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

	// plainly are values that say themselves that they are no secret: an address, a time, an
	// answer.
	plainly = regexp.MustCompile(`^(?:[a-z][a-z0-9+.-]*://[^@]*|[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.(?:com|net|org|io` +
		`|svc|local|internal|cloud|dev)(?::\d+)?` +
		`|\d+(?:\.\d+){3}(?::\d+)?|\d{4}-\d\d-\d\dT[\d:.]+Z?|true|false|enabled|disabled|default|production|staging` +
		`|development)$`)
)

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
