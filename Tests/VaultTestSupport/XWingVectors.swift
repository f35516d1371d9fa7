/// The test vectors of draft-connolly-cfrg-xwing-kem-08, appendix C.
package struct XWingVector: Sendable {
    /// All fields but the last are hexadecimal.
    package let seed, publicKeySHA256, secret: String
    /// In base64.
    package let encapsulation: String

    package static let all = [
        XWingVector(
            seed: "7f9c2ba4e88f827d616045507605853ed73b8093f6efbc88eb1a6eacfa66ef26",
            publicKeySHA256: "2e816deebcd76c5c80d0cd2d174478871658e8e2ff42bc9d4a6e486372e856bb",
            secret: "d2df0522128f09dd8e2c92b1e905c793d8f57a54c3da25861f10bf4ca613e384",
            encapsulation:
                "uDqoKNTWK5qDzv/h09O7HvMSZGQ8BwxXmJJ+QfsHkUonP4+W54Js1TdaKD19qIUwTF3gUWoPBlQkPcW5f4v+uDH2glEhmqvd"
                + "cjvGUSBBrLrvivRCZVJJQrkC5o/9IyIc2nCxtV13apLRFD6joMR19j7miQFXxxFtrj9iv3L2Cs0ruMwxziug3jZPUrjtOMed"
                + "cZcVljpd04QtjotDq3BOR1m1MnvwJ8Y8j6hXxJCNWop7iKx/K+OU2Tw3Bt3U5pjMbONwEB9NAhMlQji0ouiCG25BShzyD2wS"
                + "RLaZBG9aAcqgoaVVFjALQNIEjHfMc6+6ea/uqdLAEYvfKtuIcNwyjFUWzEWxogWBQQOeLJChEKnhazGN+1O9SaEm1rc/IVeH"
                + "UXuJF8wByr0QfQaFmFTui0+YYcIm03ZMhzOasWw2Z9L0k4TlVFbdQEFLcKavhBWF9MkMaHJdV3BO6O585uL5vlgtvumF4Dj/"
                + "w0br+04iFYtshDdKmrSkTh+R3lqsUZf4m8XlRC9R+aWTexAro76uv24cWDgKSl/tzkpOUCb4j1KPWf/S20F1Kzo9kO+r5GOJ"
                + "m31AhwxTDIhB6HErczZo7QM62/r7LUnTekTUBk5YY+sK8KCNR7PMiINzvAX3ozuEG8JYfFfraVVOijdnt1BpF7a3BJhyfxbq"
                + "waNuyNjPr3UVSfInfbJ36KVamlEGsjoCBrRyH6mzBIVSxb1bWU1uJH84wYxZGup/ViSccs57EXr8w6hiFYL5z3F4fhg97gk2"
                + "eXbphAmtkhekl9+IgEI4TXcHprePX3+4QJ47U1F1NzRht3YALXmcutYoYL5wVz7L4Tskbg2n6TpSFo4Ptql1a4le9/AUeg3I"
                + "G/pkSwiKkigWDA+azxN5opQc0owG68gOROF6ovgXcBCv14qXzgho0WKeuylMUVGBLFg9rriGhSIPTakRgRLgcEH8wk1VZKmf"
                + "294ohp/gciOH16mk0W4cyFVZF+CZRKpeuqrsLPYmk6+tQqP1GPzmfSc8xsn7VHKzgOhXPsfeBqO6L9X5MdcltJMCbLCsvT/m"
                + "LQDkx5DZZdegOjwLQiK6jCqaFuKsZY9XKuDnRur8T+ugI1dvCJQieKBB+4KnClldW6y/KXziApiYpx5cOw0cYii0hbGt5Qmz"
                + "X7yn7Kl7ITLny2vEZTdRRrfc6slpMIrAwqyJ54Y+uJQwFbJDFMr7nHwOhf5UPVZljCE2Mlme+r/B7EndjIhUe7LMQMnTjL0w"
                + "mbRUeEBWBTHQGIzR6cI6Dr7goD1Vd9ZrHSvLS6ryHMf+8eA4BsqWKZ3w37xW4bK0Pk/CDDf4NMSvYhJ+fa6Gw8JaL2lqyLWJ"
                + "3scdWVv76Ute1LwH2ACzMHlv2ontt3vgKUE2E5NU64zTdZFXj5xgDdm+jsYhn91Qet8zl+1NaHB7jROyTOTNj7IoUb/p1jJA"
                + "fzHtb3yxYA3lbxdXZ0DOKjL8UUUDAUXPuX5j4OQdNUJ0oHnT5vsuFQ=="),
        XWingVector(
            seed: "badfd6dfaac359a5efbb7bcc4b59d538df9a04302e10c8bc1cbf1a0b3a5120ea",
            publicKeySHA256: "c42ba5f8430d7d2c83739338203819f090e8303ce9c8b02107c272bfa5376916",
            secret: "f2e86241c64d60f6649fbc6c5b7d17180b780a3f34355e64a85749949c45f150",
            encapsulation:
                "yTvrIjJnBWmbvD0dCqYzm+ekBd6+YafDN+GpFFPAl6b3fBMGOdGq6xkxdfGph6of14mmPJzUh+vWll9dg4nI18jPrLuktE0v"
                + "vgroTenpb7ESFdm3as1RiHt1IynBo+BGjMxJOSweDxqtYac8EIMeYKl5jLLn7AdZa1gD2z4kPsu5QWb+reDJGXN4cA+OtlpD"
                + "UCu6xGBZkuLeK5BqswukAdfh/zyY9Cz8SzC5dNMxbzMUYawF9D4Nt7QdPacCpPVntu5ylRmce+kva0pH5zB9NCeOA8hy+0hk"
                + "fERqZKOTfczXxtjeTTS53qRaCwZe8VuelNG2323KcXTZvJ0UxiJeOnilh4XD/k4v5qBwbzNlOJ5CWPu2Hs8aGVdxWYKz8YRE"
                + "JOA6zYPafu5QVz9s0/85aEHpoArWedqSJ0Ep2id4M9BSRnT+6gmpjSW4iGFvM4QS2OZeFR5lc2yMb7RIySYPog57JxIUi806"
                + "CFOGX1DB/J5PIBruN1cSDgNP1QnZVLenSf93ZWE4LEy2TOvLtqqC0EzVwrQDleyvIxvegzTs/ZVdCe+oxueTWxywKY+4tnQL"
                + "5FkzYO7V8SnVnZiCKmzqN8V2dOkZ6E1rkPaV/KWOfSkJK9cPfJfG37AhufhyFqYnHYsUSjZNA7a/CE+XLcWYALFKLACLvQmS"
                + "tbgoAQIJePK93bPKM2fYds/7NUjatpWimILK4utbp8hHw8cb0BUPqcM6rI5iQODCabjild23t36cF70xC+ZeKMCAITbQhnd7"
                + "5WUtbxrIedMmPpxxLRr3NurASP6Eild9avrqFCjccduMQw7de1hK5uaur3JXr/D9j+JcMIQOMMz6HZURjvD2ZXNn6QcPPZei"
                + "6ae64ZlXvXB7AOMbaw67nX30vSLkTAYIMKGUtbgog1MlW1KVT/WQWrKxJtmqBJ5EWZNown1ssDPq5RgsLhUE7k43RfUUiJl7"
                + "j5WPAgkGT29Ep+TeUibVWU0a2bQqxZotEAovGQ34c6LhQVUvM8kjtMkn6HR8b4MMRBqL08Wzcfazq4ED68+xhUOu/Bvrb3dr"
                + "v9U0R3n0qiParzlfaewx3ARrSR8OXMnGUd/DBr2PIQW+e8ek9OIZV/hyeMdxUoqHQKkuLa76dqNSXx+uF+xDYqJwCYgAHYYA"
                + "EdbKOpX3mgIFvPY0zvNzqOonP/D0JQ64YX0PuSECpqoJzww+4srRrZZDjI5N/W7g/MhYM8MQPdbBYAzTBbwt9M2om1XKI3o/"
                + "nD+COQB0/zCCX8dQEw668T0M91VtLFKpikutOcpdRKqt6u93XGleZNBulmrPzVUqFOLfbGOuVB8PqI/EgmMIloVwRQaiGgOF"
                + "bOZdTwbVTzFX7qvWJJHLSse/Ap55+fvUx34qNYh5DHEOYR2osgQMdqYVB6gCB1jcwwiUrQGP75jkAcxUEG4g2UvVRKjw4f0F"
                + "ADQtEj9hiqjJG99uDgMgBpPJZR5Gmu5vkcmL6kEnrmYxL0rj6hVbZw=="),
        XWingVector(
            seed: "ef58538b8d23f87732ea63b02b4fa0f4873360e2841928cd60dd4cee8cc0d4c9",
            publicKeySHA256: "6b080d6b84f095342092fa7a22423e58bd681397ad0ef00eac92bd254db4fa95",
            secret: "953f7f4e8c5b5049bdc771d1dffada0dd961477d1a2ae0988baa7ea6898d893f",
            encapsulation:
                "DS44y/F6Li5ODIepTKHncBrhVS4CUJs7APnILDnj/UNbBbkSdfR6vJ8QIUKaJqNGWYzWzZ79yK3B28NQNtApC/iXM8g1MJIC"
                + "Iy+b9lLqgvPUkoDW6KO9MTX7iDRFq1sHTZScU1DHx9asWZBb2/zmY52oqdSzkOzB3QVSLSlW8tN6BVk5luXLP9jVqetSQXcy"
                + "4ev1RViHE7R2AicRWqt62heNrbylg7Js/tuiiIoMlblQvwf3UNeqgQN5iqNHCgQsAQXGoDfeL568OWAhsrosFqumlvusNFTc"
                + "jgU7j6Ve3UUhXutXoeq5EG+0JrN1qbnlw0Ge/HYQl35yZA+f0bLsM33jPDXlp1gbKq5NjuhtLg6/gqE1BxTeUNLXiGh4eKGW"
                + "RK5OMXXo1Z3JAXGzut7/Za6vYA5eVIOjWV/etAy6/L0EDCmi9pAFM66ZnST1TfzvdIwwMTykR83d+leteOqokOkPP3v40RaW"
                + "ilcTzHX9BAjzY2T6JlxWFwOTBOrqxMvub8Sbn+InZ2jNvsLXOlB7VDzAKNwbFUt8KwQSJUxGapSo1uo6R+F0NGm9RcCPVM+W"
                + "WIS+NpbpYXQe3hbjsbxP65P6rvMdkR3Ayz+pC82pkZWanSy8gXpVZMXAEXelnpV3WJ6jRNYM9bCqOfMYY/69VGA8qHrSNjx2"
                + "ZkKj9SVXvNnkwFqHZlhCujNrgxVqZ3Aw8LrVMag4ehSGpZnKp0j86nvcHrY/PNuXFzVRq3wcNraay72y/3oee8cEOWMt3Ge5"
                + "fz2h9Zs8FYhRWVfLii+Gq2Nc4KeLfN8k6sNEXo/It5ugTanpA/SafZEsGXqEtM+rx3m5fSR4hBm89YA125lxftuf0cHfjEAF"
                + "9wDqu6Uo3fy67abdMHVPeVlIo0yTGatlNSSxmTHHkAxBZ5iK9SKS/pAudGtSTSDO/7Qzno9VNfQc818Pjqi0p7lJxdI4ERax"
                + "Rum5E6g6P6HGX/lGjINf5BFFVKbGaoDhyaa7Bks4C+PJXlWV7Jeb8chaqTiTjj8Q5ysMh4EZaeirDYPeCwYExAFqw6AV4ZUU"
                + "CJJxvcbr8uxW+rYBjkTedJtMNswjXjcNqEZtvcJTVCotcE6zMW/XDV0jjLfqrwWWbZc/YsfvQ7moBvTtITrICZ6hXWGpAkRB"
                + "YIg/a/RBo+FGmUXJt5SJ6hg5Dx68g8rKEL248kKYd7Ur1EyUoijvkcOS71OYxcg5gnATGMztq5L3onnE/d66p/5emGxIt9gT"
                + "Wz/kzRW+IATOc/+GseVfjs1rpbgRQxX45xbvOrCmRWSkZEZRFm69aLH3g+LkQ9vMrf4Yk2hkdinxoSIVhAt/HQJt4vZlwusC"
                + "P/UabfFgkSgR7gNESuQif7lB3J7E8xtEUAb9OE3l5g4KUGG1DLEgL4YwkPwF64FOLUKgNYbAtW9TOEese4GEzpaQvI3s4yqI"
                + "ypNPVB1MxSD6ZN5rbhw8jgPbWXGkRZkiJ8glWQaI0gNSP1JxYRNzNA=="),
    ]
}
