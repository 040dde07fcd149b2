package redact

import "testing"

func TestIsSecretKey(t *testing.T) {
	for name, want := range map[string]bool{
		"password": true, "clientSecret": true, "DB_PASSWORD": true, "example.com/api-token": true, "tokens": true,
		"authorization": true, "auth": true,
		"private_key": true, "secretAccessKey": true, "passwordHash": true, "credentials": true,
		"": false, "name": false, "secretRef": false, "passwordSecretRef": false,
		"writeConnectionSecretToRef": false, "secretName": false, "author": false,
		"publicKey": false, "key": false, "tokenExpirationSeconds": false, "signaturePolicy": false,
		"pass=word": false, "bypass": false,
	} {
		if got := IsSecretKey(name); got != want {
			t.Errorf("IsSecretKey(%q) = %t, want %t", name, got, want)
		}
	}
}
